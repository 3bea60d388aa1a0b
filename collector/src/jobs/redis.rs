//! A list in Redis, and as much of its protocol as reading one takes (RESP 2).

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{PATIENCE, Unread};

/// The longest element that is read, bytes.
const LONGEST: usize = 1 << 20;
/// Elements that are asked for at once.
const AT_ONCE: i64 = 5_000;

/// Why a list was not read.
#[derive(Debug, thiserror::Error)]
enum RedisError {
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    #[error("no answer within {PATIENCE:?}")]
    Silent,
    #[error("Redis says: {0}")]
    Refused(String),
    #[error("not an answer of Redis: {0:?}")]
    Unknown(String),
    #[error("it became shorter, so that events may be missing: read it before it is trimmed")]
    Shorter,
}

/// A list to which events are appended.
#[derive(Debug)]
pub struct RedisList {
    /// `host:port` of the Redis.
    address: String,
    list: String,
    redis: Option<Redis>,
    /// The index of the first element that is not read yet; `None` before the list's length is known.
    next: Option<i64>,
}

impl RedisList {
    /// The list with that key in the Redis at `address` (`host:port`), from its end on.
    pub fn new(address: &str, list: &str) -> Self {
        Self {
            address: address.to_owned(),
            list: list.to_owned(),
            redis: None,
            next: None,
        }
    }

    /// What was appended since the last reading.
    pub(super) async fn read(&mut self) -> Result<Vec<String>, Unread> {
        self.appended().await.map_err(|error| {
            self.redis = None;
            let why = format!(
                "the list {} of the Redis at {}: {error}",
                self.list, self.address
            );
            let missing = matches!(error, RedisError::Shorter);
            Unread { why, missing }
        })
    }

    async fn appended(&mut self) -> Result<Vec<String>, RedisError> {
        let mut redis = match self.redis.take() {
            Some(redis) => redis,
            None => Redis::connect(&self.address).await?,
        };
        let length = redis.length(&self.list).await?;
        let from = match self.next {
            Some(next) if next > length => {
                self.next = Some(length);
                return Err(RedisError::Shorter);
            }
            Some(next) => next,
            None => length,
        };
        let lines = redis.range(&self.list, from, length).await?;
        self.next = Some(from.max(length));
        self.redis = Some(redis);
        Ok(lines)
    }
}

/// A connection.
#[derive(Debug)]
struct Redis(BufReader<TcpStream>);

enum Reply {
    Number(i64),
    Texts(Vec<String>),
}

impl Redis {
    async fn connect(address: &str) -> Result<Self, RedisError> {
        let connected = timeout(PATIENCE, TcpStream::connect(address)).await;
        let stream = connected.map_err(|_| RedisError::Silent)?;
        Ok(Self(BufReader::new(stream.map_err(RedisError::Connect)?)))
    }

    /// The length of a list; 0 where there is none.
    async fn length(&mut self, list: &str) -> Result<i64, RedisError> {
        match self.ask(&["LLEN", list]).await? {
            Reply::Number(length) => Ok(length),
            Reply::Texts(_) => Err(RedisError::Unknown("a list".to_owned())),
        }
    }

    /// The elements from index `from` on, before `to`.
    async fn range(&mut self, list: &str, from: i64, to: i64) -> Result<Vec<String>, RedisError> {
        let mut all = Vec::new();
        let mut next = from;
        while next < to {
            let last = (next + AT_ONCE).min(to) - 1;
            let words = ["LRANGE", list, &next.to_string(), &last.to_string()];
            match self.ask(&words).await? {
                Reply::Texts(texts) => all.extend(texts),
                Reply::Number(n) => return Err(RedisError::Unknown(n.to_string())),
            }
            next = last + 1;
        }
        Ok(all)
    }

    async fn ask(&mut self, words: &[&str]) -> Result<Reply, RedisError> {
        let mut command = format!("*{}\r\n", words.len());
        for word in words {
            command += &format!("${}\r\n{word}\r\n", word.len());
        }
        let answered = async {
            self.0.get_mut().write_all(command.as_bytes()).await?;
            self.reply().await
        };
        timeout(PATIENCE, answered)
            .await
            .map_err(|_| RedisError::Silent)?
    }

    async fn reply(&mut self) -> Result<Reply, RedisError> {
        let line = self.line().await?;
        let number = || line[1..].parse::<i64>();
        match (line.as_bytes().first(), number()) {
            (Some(b':'), Ok(n)) => Ok(Reply::Number(n)),
            (Some(b'*'), Ok(n)) => {
                let mut texts = Vec::new();
                for _ in 0..n {
                    texts.push(self.text().await?);
                }
                Ok(Reply::Texts(texts))
            }
            (Some(b'-'), _) => Err(RedisError::Refused(line[1..].to_owned())),
            _ => Err(RedisError::Unknown(line)),
        }
    }

    async fn text(&mut self) -> Result<String, RedisError> {
        let head = self.line().await?;
        let length = head.strip_prefix('$').and_then(|n| n.parse::<usize>().ok());
        let Some(length) = length.filter(|n| *n <= LONGEST) else {
            return Err(RedisError::Unknown(head));
        };
        let mut bytes = vec![0; length + 2];
        self.0.read_exact(&mut bytes).await?;
        bytes.truncate(length);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    async fn line(&mut self) -> Result<String, RedisError> {
        let mut bytes = Vec::new();
        let mut limited = (&mut self.0).take(LONGEST as u64);
        limited.read_until(b'\n', &mut bytes).await?;
        let line = String::from_utf8_lossy(&bytes);
        match line.strip_suffix("\r\n") {
            Some(line) if !line.is_empty() => Ok(line.to_owned()),
            _ => Err(RedisError::Broken(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    /// A server that answers each read with the next of `answers`.
    async fn answering(answers: &'static [&'static str]) -> Redis {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            for answer in answers {
                let mut asked = [0; 512];
                let _ = stream.read(&mut asked).await.unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Redis::connect(&address).await.unwrap()
    }

    #[tokio::test]
    async fn a_list_is_read_from_where_the_last_reading_ended() {
        let mut redis = answering(&[":3\r\n", "*2\r\n$1\r\nb\r\n$6\r\n{\r\n\"\"}\r\n"]).await;
        assert_eq!(redis.length("jobs").await.unwrap(), 3);
        assert_eq!(
            redis.range("jobs", 1, 3).await.unwrap(),
            ["b", "{\r\n\"\"}"]
        );
    }

    #[tokio::test]
    async fn what_redis_refuses_is_told_in_its_words() {
        let mut redis = answering(&["-WRONGTYPE not a list\r\n"]).await;
        let error = redis.length("jobs").await.unwrap_err().to_string();
        assert_eq!(error, "Redis says: WRONGTYPE not a list");
    }

    #[tokio::test]
    async fn an_end_in_the_middle_of_an_answer_is_an_error() {
        let mut redis = answering(&["*2\r\n$1\r\nb\r\n"]).await;
        assert!(redis.range("jobs", 0, 2).await.is_err());
        let mut other = answering(&["HTTP/1.1 400 Bad Request\r\n"]).await;
        let error = other.length("jobs").await.unwrap_err();
        assert!(matches!(error, RedisError::Unknown(_)), "{error}");
    }
}
