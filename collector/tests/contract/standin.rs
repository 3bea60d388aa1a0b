//! A stand-in for an API server: lists, watches, logs and patches over plain HTTP/1.1 on loopback, with faults on request.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// What a client asked for.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// Lower-case names.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    /// A parameter of the query, decoded.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let query = self.target.split_once('?')?.1;
        let pair = |p: &str| p.split_once('=').map(|(k, v)| (k.to_owned(), decode(v)));
        query
            .split('&')
            .filter_map(pair)
            .find(|(k, _)| k == name)
            .map(|(_, v)| v)
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let hex = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    String::from_utf8(bytes).unwrap()
}

/// What the next request on a path gets instead of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// This status, with a header.
    Status(u16, Option<(&'static str, &'static str)>),
    /// The head of an answer and then nothing, for ever: a half-open connection.
    Stall,
}

/// A part of a streamed body.
#[derive(Debug, Clone)]
enum Part {
    Data(String),
    /// The proper end.
    End,
    /// The connection is closed in the middle.
    Cut,
}

#[derive(Default)]
struct World {
    version: u64,
    /// Collections by path, objects by name.
    collections: BTreeMap<String, BTreeMap<String, Value>>,
    /// Lines of the watch with their version, by collection.
    history: BTreeMap<String, Vec<(u64, String)>>,
    /// Versions up to this one are forgotten.
    forgotten: u64,
    watchers: BTreeMap<String, Vec<mpsc::UnboundedSender<Part>>>,
    /// Logs by `pod/container`.
    logs: BTreeMap<String, Vec<String>>,
    followers: BTreeMap<String, Vec<mpsc::UnboundedSender<Part>>>,
    faults: BTreeMap<String, VecDeque<Fault>>,
    /// Answered to every request while it is set.
    down: Option<u16>,
    asked: Vec<Asked>,
}

/// The stand-in. Clones are the same server.
#[derive(Clone)]
pub(crate) struct Standin {
    world: Arc<Mutex<World>>,
    pub(crate) url: String,
}

impl Standin {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let standin = Self {
            world: Arc::default(),
            url,
        };
        standin.world.lock().unwrap().version = 100;
        let serving = standin.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let serving = serving.clone();
                tokio::spawn(async move { serving.connection(socket).await });
            }
        });
        standin
    }

    /// Adds or changes an object.
    pub(crate) fn put(&self, collection: &str, mut object: Value) -> Value {
        let mut world = self.world.lock().unwrap();
        world.version += 1;
        let version = world.version;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let objects = world.collections.entry(collection.to_owned()).or_default();
        let event = if objects.contains_key(&name) {
            "MODIFIED"
        } else {
            "ADDED"
        };
        objects.insert(name, object.clone());
        let line = json!({"type": event, "object": object}).to_string() + "\n";
        world.publish(collection, version, line);
        object
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, collection: &str, name: &str) {
        let mut world = self.world.lock().unwrap();
        world.version += 1;
        let version = world.version;
        let mut object = world
            .collections
            .get_mut(collection)
            .unwrap()
            .remove(name)
            .unwrap();
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let line = json!({"type": "DELETED", "object": object}).to_string() + "\n";
        world.publish(collection, version, line);
    }

    /// Forgets the history: a watch from before now gets 410.
    pub(crate) fn compact(&self) {
        let mut world = self.world.lock().unwrap();
        world.forgotten = world.version;
    }

    /// Sends raw text into every open watch of a collection.
    pub(crate) fn inject(&self, collection: &str, text: &str) {
        self.world
            .lock()
            .unwrap()
            .send(collection, Part::Data(text.to_owned()));
    }

    /// Cuts every open watch of a collection.
    pub(crate) fn cut(&self, collection: &str) {
        let mut world = self.world.lock().unwrap();
        world.send(collection, Part::Cut);
        world.watchers.remove(collection);
    }

    /// Answers every request with this status, until it is set to `None`. Open streams are cut.
    pub(crate) fn down(&self, status: Option<u16>) {
        let mut world = self.world.lock().unwrap();
        world.down = status;
        if status.is_some() {
            let open: Vec<String> = world.watchers.keys().cloned().collect();
            open.iter().for_each(|c| world.send(c, Part::Cut));
            world.watchers.clear();
        }
    }

    /// The next request for this path (that is no list) gets this.
    pub(crate) fn fault(&self, path: &str, fault: Fault) {
        let mut world = self.world.lock().unwrap();
        world
            .faults
            .entry(path.to_owned())
            .or_default()
            .push_back(fault);
    }

    /// Adds lines to a container's log; each with its timestamp.
    pub(crate) fn log(&self, container: &str, lines: &[&str]) {
        let mut world = self.world.lock().unwrap();
        for line in lines {
            let line = format!("{line}\n");
            world
                .logs
                .entry(container.to_owned())
                .or_default()
                .push(line.clone());
            for follower in world.followers.get(container).into_iter().flatten() {
                let _ = follower.send(Part::Data(line.clone()));
            }
        }
    }

    /// Ends the streams of a container's log: in order, or cut.
    pub(crate) fn end_log(&self, container: &str, in_order: bool) {
        let mut world = self.world.lock().unwrap();
        for follower in world.followers.remove(container).into_iter().flatten() {
            let _ = follower.send(if in_order { Part::End } else { Part::Cut });
        }
    }

    /// Everything that was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.world.lock().unwrap().asked.clone()
    }

    /// How many watches of a collection are open.
    pub(crate) fn watchers(&self, collection: &str) -> usize {
        self.world
            .lock()
            .unwrap()
            .watchers
            .get(collection)
            .map_or(0, Vec::len)
    }

    /// How many streams follow a container's log.
    pub(crate) fn followers(&self, container: &str) -> usize {
        self.world
            .lock()
            .unwrap()
            .followers
            .get(container)
            .map_or(0, Vec::len)
    }

    async fn connection(&self, mut socket: TcpStream) {
        while let Some(asked) = read_request(&mut socket).await {
            self.world.lock().unwrap().asked.push(asked.clone());
            if self.answer(&mut socket, &asked).await.is_err() {
                return;
            }
        }
    }

    async fn answer(&self, socket: &mut TcpStream, asked: &Asked) -> std::io::Result<()> {
        let down = self.world.lock().unwrap().down;
        if let Some(status) = down {
            return plain(socket, status, &status_object(status), None).await;
        }
        let is_list = asked.method == "GET" && asked.query("watch").is_none();
        let fault = (!is_list || asked.path().ends_with("/log"))
            .then(|| {
                self.world
                    .lock()
                    .unwrap()
                    .faults
                    .get_mut(asked.path())?
                    .pop_front()
            })
            .flatten();
        match fault {
            Some(Fault::Status(code, header)) => {
                return plain(socket, code, &status_object(code), header).await;
            }
            Some(Fault::Stall) => {
                socket.write_all(STREAM_HEAD).await?;
                std::future::pending::<()>().await;
            }
            None => {}
        }
        match (asked.method.as_str(), asked.path()) {
            ("GET", "/version") => {
                plain(socket, 200, &json!({"gitVersion": "v1.36.0"}), None).await
            }
            ("GET", path) if path.ends_with("/log") => self.serve_log(socket, asked).await,
            ("GET", _) if asked.query("watch").is_some() => self.serve_watch(socket, asked).await,
            ("GET", _) => self.serve_objects(socket, asked).await,
            ("PATCH", _) => self.serve_patch(socket, asked).await,
            _ => plain(socket, 405, &status_object(405), None).await,
        }
    }

    /// A list, or a single object.
    async fn serve_objects(&self, socket: &mut TcpStream, asked: &Asked) -> std::io::Result<()> {
        let path = asked.path();
        let found = {
            let world = self.world.lock().unwrap();
            let (parent, name) = path.rsplit_once('/').unwrap();
            match world.collections.get(path) {
                Some(objects) => {
                    let mut items: Vec<Value> = objects.values().cloned().collect();
                    for item in &mut items {
                        item.as_object_mut().unwrap().remove("kind");
                    }
                    let version = world.version.to_string();
                    Some(json!({"metadata": {"resourceVersion": version}, "items": items}))
                }
                None => world
                    .collections
                    .get(parent)
                    .and_then(|c| c.get(name))
                    .cloned(),
            }
        };
        match found {
            Some(found) => plain(socket, 200, &found, None).await,
            None => plain(socket, 404, &status_object(404), None).await,
        }
    }

    async fn serve_watch(&self, socket: &mut TcpStream, asked: &Asked) -> std::io::Result<()> {
        let from: u64 = asked.query("resourceVersion").unwrap().parse().unwrap();
        let (send, parts) = mpsc::unbounded_channel();
        let gone = {
            let mut world = self.world.lock().unwrap();
            for (version, line) in world.history.get(asked.path()).into_iter().flatten() {
                if *version > from {
                    let _ = send.send(Part::Data(line.clone()));
                }
            }
            let gone = from < world.forgotten;
            if !gone {
                world
                    .watchers
                    .entry(asked.path().to_owned())
                    .or_default()
                    .push(send);
            }
            gone
        };
        if gone {
            return plain(socket, 410, &status_object(410), None).await;
        }
        stream(socket, parts).await
    }

    async fn serve_log(&self, socket: &mut TcpStream, asked: &Asked) -> std::io::Result<()> {
        let pod = asked.path().rsplit('/').nth(1).unwrap();
        let container = format!("{pod}/{}", asked.query("container").unwrap());
        let since = asked.query("sinceTime").unwrap_or_default();
        let since = since.trim_end_matches('Z').to_owned();
        let (send, parts) = mpsc::unbounded_channel();
        {
            let mut world = self.world.lock().unwrap();
            for line in world.logs.get(&container).into_iter().flatten() {
                if line.as_str() >= since.as_str() {
                    let _ = send.send(Part::Data(line.clone()));
                }
            }
            match asked.query("follow") {
                Some(_) => world.followers.entry(container).or_default().push(send),
                None => drop(send.send(Part::End)),
            }
        }
        stream(socket, parts).await
    }

    /// Merges the patch; a changed spec gets a new generation.
    async fn serve_patch(&self, socket: &mut TcpStream, asked: &Asked) -> std::io::Result<()> {
        let (collection, name) = asked.path().rsplit_once('/').unwrap();
        let object = self.world.lock().unwrap().collections[collection][name].clone();
        let mut patched = object.clone();
        merge(&mut patched, serde_json::from_str(&asked.body).unwrap());
        if patched["spec"] != object["spec"] {
            let generation = patched["metadata"]["generation"].as_i64().unwrap();
            patched["metadata"]["generation"] = json!(generation + 1);
        }
        let patched = self.put(collection, patched);
        plain(socket, 200, &patched, None).await
    }
}

impl World {
    fn publish(&mut self, collection: &str, version: u64, line: String) {
        let history = self.history.entry(collection.to_owned()).or_default();
        history.push((version, line.clone()));
        self.send(collection, Part::Data(line));
    }

    fn send(&mut self, collection: &str, part: Part) {
        if let Some(watchers) = self.watchers.get_mut(collection) {
            watchers.retain(|w| w.send(part.clone()).is_ok());
        }
    }
}

fn merge(into: &mut Value, patch: Value) {
    match patch {
        Value::Object(fields) => {
            if !into.is_object() {
                *into = json!({});
            }
            for (key, value) in fields {
                merge(&mut into[key], value);
            }
        }
        other => *into = other,
    }
}

pub(crate) fn status_object(code: u16) -> Value {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        410 => "Expired",
        _ => "InternalError",
    };
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
           "reason": reason, "message": format!("the stand-in says {code}")})
}

async fn read_request(socket: &mut TcpStream) -> Option<Asked> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).await.ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_lowercase(), value.trim().to_owned()))
    };
    let headers: BTreeMap<String, String> = lines.filter_map(header).collect();
    let length = headers
        .get("content-length")
        .map_or(0, |l| l.parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.ok()?;
    let body = String::from_utf8(body).unwrap();
    Some(Asked {
        method,
        target,
        headers,
        body,
    })
}

const STREAM_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";

async fn plain(
    socket: &mut TcpStream,
    status: u16,
    body: &Value,
    header: Option<(&str, &str)>,
) -> std::io::Result<()> {
    let date = jiff::fmt::rfc2822::DateTimePrinter::new();
    let date = date
        .timestamp_to_rfc9110_string(&jiff::Timestamp::now())
        .unwrap();
    let header = header.map_or(String::new(), |(name, value)| {
        format!("{name}: {value}\r\n")
    });
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\ndate: {date}\r\n{header}content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    socket.write_all((head + &body).as_bytes()).await
}

/// Writes the parts as they come. After the stream the connection is closed.
async fn stream(
    socket: &mut TcpStream,
    mut parts: mpsc::UnboundedReceiver<Part>,
) -> std::io::Result<()> {
    let closed = || std::io::Error::from(std::io::ErrorKind::ConnectionAborted);
    socket.write_all(STREAM_HEAD).await?;
    let (mut reader, mut writer) = socket.split();
    let mut nothing = [0];
    loop {
        let part = tokio::select! {
            part = parts.recv() => part,
            _ = reader.read(&mut nothing) => return Err(closed()),
        };
        match part {
            Some(Part::Data(text)) => {
                let chunk = format!("{:x}\r\n{text}\r\n", text.len());
                writer.write_all(chunk.as_bytes()).await?;
            }
            Some(Part::End) => {
                writer.write_all(b"0\r\n\r\n").await?;
                return Err(closed());
            }
            Some(Part::Cut) | None => return Err(closed()),
        }
    }
}
