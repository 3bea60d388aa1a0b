//! A real PostgreSQL of the test's own.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User, chown};
use rollscope_tests::wait_until;

/// Who PostgreSQL runs as where the test is root's: it refuses to be.
const NOBODY: &str = "nobody";

/// A role that may only read, and only with TLS and its password.
pub(crate) const READER: &str = "reader";
pub(crate) const PASSWORD: &str = "only-reads";

/// A server on a free port of loopback, with a database `shop`; it ends with this value. Whoever comes over its socket
/// in [`dir`](Self::dir) is `owner`.
pub(crate) struct Postgres {
    server: Child,
    port: u16,
    dir: tempfile::TempDir,
}

impl Postgres {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        certificate(dir.path());
        give_away(dir.path());
        let data = dir.path().join("data");
        let made = as_nobody("initdb")
            .args(["--no-sync", "--username=owner", "--auth=trust", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let access =
            format!("local all owner trust\nhostssl all {READER} 127.0.0.1/32 scram-sha-256\n");
        fs::write(data.join("pg_hba.conf"), access).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let server = as_nobody("postgres")
            .args(["-c", "fsync=off", "-c", "ssl=on", "-p", &port.to_string()])
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(dir.path())
            .args([
                "-c",
                &format!("ssl_cert_file={}", dir.path().join("own.pem").display()),
            ])
            .args([
                "-c",
                &format!("ssl_key_file={}", dir.path().join("own.key").display()),
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let postgres = Self { server, port, dir };
        let answers = || postgres.psql("postgres", "SELECT 1").is_some();
        wait_until("an answer of PostgreSQL", Duration::from_secs(30), answers);
        postgres.psql("postgres", "CREATE DATABASE shop").unwrap();
        postgres.sql(&format!(
            "CREATE TABLE events (job text, event text, pod text, t timestamptz);
             CREATE SEQUENCE numbers;
             CREATE ROLE {READER} LOGIN PASSWORD '{PASSWORD}';
             GRANT SELECT ON events TO {READER};
             GRANT ALL ON SEQUENCE numbers TO {READER};"
        ));
        postgres
    }

    /// Where its socket and its certificate `own.pem` are.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// As [`READER`], without the password.
    pub(crate) fn url(&self) -> String {
        format!("postgresql://{READER}@127.0.0.1:{}/shop", self.port)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// What psql prints for a statement.
    pub(crate) fn sql(&self, statement: &str) -> String {
        self.psql("shop", statement).unwrap()
    }

    /// The number that a query gives.
    pub(crate) fn number(&self, query: &str) -> u64 {
        self.sql(query).trim().parse().unwrap()
    }

    fn psql(&self, database: &str, statement: &str) -> Option<String> {
        let output = Command::new("psql")
            .args([
                "-qXAt",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                "owner",
                "-d",
                database,
            ])
            .args(["-p", &self.port.to_string(), "-c", statement, "-h"])
            .arg(self.dir.path())
            .output()
            .expect("psql, from the package postgresql-client");
        let answer = String::from_utf8(output.stdout).unwrap();
        output.status.success().then_some(answer)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // At once, without waiting for clients.
        let pid = Pid::from_raw(i32::try_from(self.server.id()).unwrap());
        let _ = kill(pid, Signal::SIGQUIT);
        let _ = self.server.wait();
    }
}

/// The certificate `own.pem` for 127.0.0.1 with its key.
fn certificate(dir: &Path) {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    fs::write(dir.join("own.pem"), own.cert.pem()).unwrap();
    let key = dir.join("own.key");
    fs::write(&key, own.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Makes everything in the folder, and itself, that of whom PostgreSQL runs as.
fn give_away(dir: &Path) {
    if !Uid::current().is_root() {
        return;
    }
    let user = User::from_name(NOBODY).unwrap().unwrap();
    let entries = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    for path in entries.chain([dir.to_owned()]) {
        chown(&path, Some(user.uid), Some(user.gid)).unwrap();
    }
}

/// A program of the server's, as somebody who is not root.
fn as_nobody(program: &str) -> Command {
    let program = bin().join(program);
    if !Uid::current().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    let (user, group) = (format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"));
    let group = group.replace(NOBODY, "nogroup");
    command.args([&user, &group, "--clear-groups"]).arg(program);
    command
}

/// Where Debian has the programs of the newest PostgreSQL, which are in no `PATH`.
fn bin() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql");
    let versions = versions.expect("PostgreSQL, from the package postgresql");
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|v| {
            let path = v.unwrap().path();
            let number = path.file_name()?.to_str()?.parse().ok()?;
            Some((number, path.join("bin")))
        })
        .collect();
    found.sort();
    found.pop().expect("a version of PostgreSQL").1
}
