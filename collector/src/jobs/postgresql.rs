//! The rows of a query of a PostgreSQL database.

use std::error::Error as _;
use std::str::FromStr;

use rustls::ClientConfig;
use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{PATIENCE, Unread};

/// A query whose rows are events: each as JSON with the names of its columns.
#[derive(Debug)]
pub struct Query {
    config: Config,
    /// Host, port and database, for messages.
    place: String,
    text: String,
    tls: Option<ClientConfig>,
    connected: Option<Client>,
}

/// Why there are no rows.
#[derive(Debug, thiserror::Error)]
enum QueryError {
    #[error("cannot connect: {}", in_words(.0))]
    Connect(tokio_postgres::Error),
    #[error("{}", in_words(.0))]
    Query(#[from] tokio_postgres::Error),
    #[error("it has {0} parameters: `$1` is the only one that there is")]
    Parameters(usize),
    #[error("no answer within {PATIENCE:?}")]
    Silent,
}

impl Query {
    /// The query `text` of the database at `url`. `tls`: where the connection is to have it.
    ///
    /// # Errors
    ///
    /// A URL that is none, in words.
    pub fn new(
        url: &str,
        password: Option<&str>,
        text: &str,
        tls: Option<ClientConfig>,
    ) -> Result<Self, String> {
        let mut config = Config::from_str(url)
            .map_err(|e| format!("jobs.postgresql.url cannot be used: {}", in_words(&e)))?;
        config
            .application_name("rollscope")
            .connect_timeout(PATIENCE)
            .ssl_mode(if tls.is_some() {
                SslMode::Require
            } else {
                SslMode::Disable
            });
        if let Some(password) = password {
            config.password(password);
        }
        Ok(Self {
            config,
            place: url.split_once('@').map_or(url, |(_, at)| at).to_owned(),
            // Each row as one text, whatever its columns' types; a comment at its end ends before the bracket.
            text: format!("SELECT row_to_json(own_row)::text FROM (\n{text}\n) AS own_row"),
            tls,
            connected: None,
        })
    }

    /// Every row that is there. `key_prefix` takes the place of `$1`.
    pub(super) async fn read(&mut self, key_prefix: &str) -> Result<Vec<String>, Unread> {
        let read = timeout(PATIENCE, self.rows(key_prefix)).await;
        let read = read.unwrap_or_else(|_| {
            self.connected = None;
            Err(QueryError::Silent)
        });
        read.map_err(|error| Unread {
            why: format!("the query of PostgreSQL at {}: {error}", self.place),
            missing: false,
        })
    }

    async fn rows(&mut self, key_prefix: &str) -> Result<Vec<String>, QueryError> {
        let mut client = match self.connected.take() {
            Some(client) if !client.is_closed() => client,
            _ => self.connect().await.map_err(QueryError::Connect)?,
        };
        let reading = client.build_transaction().read_only(true).start().await?;
        let query = reading.prepare(&self.text).await?;
        let rows = match query.params() {
            [] => reading.query(&query, &[]).await?,
            [_] => reading.query(&query, &[&key_prefix]).await?,
            more => return Err(QueryError::Parameters(more.len())),
        };
        reading.rollback().await?;
        self.connected = Some(client);
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    async fn connect(&self) -> Result<Client, tokio_postgres::Error> {
        match &self.tls {
            Some(tls) => {
                let tls = MakeRustlsConnect::new(tls.clone());
                let (client, connection) = self.config.connect(tls).await?;
                // It ends with its client; what goes wrong with it is the next query's error.
                tokio::spawn(connection);
                Ok(client)
            }
            None => {
                let (client, connection) = self.config.connect(NoTls).await?;
                tokio::spawn(connection);
                Ok(client)
            }
        }
    }
}

/// What the server says, or else the error with its causes, in one line.
fn in_words(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!(
            "PostgreSQL says: {} ({})",
            said.message(),
            said.code().code()
        );
    }
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words += &format!(": {error}");
        cause = error.source();
    }
    words
}
