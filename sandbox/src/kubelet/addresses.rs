//! The loopback address and the ports of a pod, unique among all sandboxes that run on the machine.
//!
//! A claim is a socket bound to a name in Linux's abstract namespace: it belongs to one process, needs no file and no
//! port, and ends with its owner, however that ends.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Ports below the kernel's ephemeral range, so that no client's connection sits on one.
const PORTS: std::ops::Range<u16> = 10_000..30_000;
/// How many are tried before giving up.
const TRIES: usize = 2_000;

/// A loopback address of its own; free again when dropped.
#[derive(Debug)]
pub(super) struct AddressClaim {
    pub(super) ip: Ipv4Addr,
    _claim: UnixDatagram,
}

/// A TCP port that nobody listens on and no other sandbox has claimed; free again when dropped.
#[derive(Debug)]
pub struct PortClaim {
    pub(super) port: u16,
    _claim: UnixDatagram,
}

impl PortClaim {
    /// Claims that port. `None` if somebody listens on it or another sandbox has claimed it.
    pub fn of(port: u16) -> Option<Self> {
        let claim = claim(&port.to_string())?;
        is_free(port).then_some(Self {
            port,
            _claim: claim,
        })
    }

    /// Claims any free port.
    ///
    /// # Errors
    /// There is none between 10 000 and 30 000.
    pub fn any() -> io::Result<Self> {
        claim_port(&mut StdRng::seed_from_u64(rand::random()))
    }

    /// Whether still nobody listens on it.
    pub fn is_free(&self) -> bool {
        is_free(self.port)
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

/// Whether a server can listen on the port on every interface, of either family.
fn is_free(port: u16) -> bool {
    let taken = |ip: IpAddr| {
        let tried = TcpListener::bind((ip, port));
        tried.is_err_and(|e| e.kind() == io::ErrorKind::AddrInUse)
    };
    !taken(Ipv4Addr::UNSPECIFIED.into()) && !taken(Ipv6Addr::UNSPECIFIED.into())
}

/// Claims an address out of 127.1.0.0 to 127.254.255.255.
pub(super) fn claim_address(rng: &mut StdRng) -> io::Result<AddressClaim> {
    for _ in 0..TRIES {
        let ip = Ipv4Addr::new(
            127,
            rng.random_range(1..=254),
            rng.random_range(0..=255),
            rng.random_range(1..=254),
        );
        if let Some(claim) = claim(&ip.to_string())
            && TcpListener::bind((ip, 0)).is_ok()
        {
            return Ok(AddressClaim { ip, _claim: claim });
        }
    }
    Err(exhausted("no free loopback address in 127.0.0.0/8"))
}

/// Claims a port on which a server can listen on every interface.
pub(super) fn claim_port(rng: &mut StdRng) -> io::Result<PortClaim> {
    for _ in 0..TRIES {
        let port = rng.random_range(PORTS);
        if let Some(claim) = claim(&port.to_string())
            && TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
        {
            return Ok(PortClaim {
                port,
                _claim: claim,
            });
        }
    }
    Err(exhausted("no free TCP port between 10000 and 30000"))
}

fn claim(what: &str) -> Option<UnixDatagram> {
    let name = format!("rollscope-sandbox/{what}");
    let address = SocketAddr::from_abstract_name(name).ok()?;
    UnixDatagram::bind_addr(&address).ok()
}

fn exhausted(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AddrNotAvailable, what)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn two_sandboxes_with_the_same_seed_get_different_addresses_and_ports() {
        let (mut one, mut two) = (StdRng::seed_from_u64(7), StdRng::seed_from_u64(7));
        let (a, b) = (
            claim_address(&mut one).unwrap(),
            claim_address(&mut two).unwrap(),
        );
        assert_ne!(a.ip, b.ip);
        let (a, b) = (claim_port(&mut one).unwrap(), claim_port(&mut two).unwrap());
        assert_ne!(a.port, b.port);
    }

    #[test]
    fn a_port_in_use_is_not_given_out() {
        let mut rng = StdRng::seed_from_u64(11);
        let port = claim_port(&mut rng).unwrap().port;
        let _server = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        let mut again = StdRng::seed_from_u64(11);
        assert_ne!(claim_port(&mut again).unwrap().port, port);
    }
}
