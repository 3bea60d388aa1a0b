//! What all pods of the node share.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::time::{Duration, Instant};

use super::events::EventRecorder;
use super::scratch::Scratch;
use crate::Store;
use crate::TruthLog;
use crate::logs::LogStore;
use crate::process::{Isolation, Launcher};

/// How often a kubelet asks the container runtime what has changed.
const RELIST: Duration = Duration::from_secs(1);
/// The address of the node.
pub(super) const HOST_IP: &str = "127.0.0.1";

/// The node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) store: Store,
    pub(super) logs: LogStore,
    pub(super) launcher: Launcher,
    pub(super) truth: TruthLog,
    pub(super) events: EventRecorder,
    pub(super) working_dir: PathBuf,
    /// The folder with the command `rollscope`, where containers have one.
    pub(super) scratch: Option<Scratch>,
    /// Whether containers get this process's own environment too.
    pub(super) inherit_env: bool,
    pub(super) seed: u64,
    pub(super) started: Instant,
    warnings: Mutex<Vec<String>>,
    /// Host pids of the containers' first processes, by `namespace/pod/container`.
    processes: Mutex<BTreeMap<String, i32>>,
}

impl Node {
    pub(super) fn new(
        config: super::KubeletConfig,
        launcher: Launcher,
        scratch: Option<Scratch>,
        truth: TruthLog,
    ) -> Self {
        Self {
            events: EventRecorder::new(config.store.clone(), &config.node_name),
            name: config.node_name,
            store: config.store,
            logs: config.logs,
            launcher,
            truth,
            working_dir: config.working_dir,
            scratch,
            inherit_env: config.inherit_env,
            seed: config.seed,
            started: Instant::now(),
            warnings: Mutex::default(),
            processes: Mutex::default(),
        }
    }

    /// The first relist after `time`.
    pub(super) fn relist_after(&self, time: Instant) -> Instant {
        let running = time.saturating_duration_since(self.started).as_nanos();
        let beats = running / RELIST.as_nanos() + 1;
        self.started + RELIST * u32::try_from(beats).unwrap_or(u32::MAX)
    }

    /// Random numbers for one pod: the same for the same seed, name and order of use.
    pub(super) fn rng(&self, pod: &str) -> StdRng {
        let mut hasher = DefaultHasher::new();
        (self.seed, pod).hash(&mut hasher);
        StdRng::seed_from_u64(hasher.finish())
    }

    /// Notes something that the user should know, once.
    pub(super) fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Notes which process a container runs now.
    pub(super) fn note_process(&self, label: String, pid: i32) {
        self.processes().insert(label, pid);
    }

    /// The process that a container (`namespace/pod/container`) ran last.
    pub(super) fn process(&self, label: &str) -> Option<i32> {
        self.processes().get(label).copied()
    }

    fn processes(&self) -> MutexGuard<'_, BTreeMap<String, i32>> {
        self.processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Warns if containers are not set apart.
    pub(super) fn note_isolation(&self, isolation: &Isolation) {
        if let Isolation::Unavailable { reason } = isolation {
            self.warn(format!(
                "no PID namespace available ({reason}): pods run as ordinary processes; signals without a handler \
                 are withheld as the kernel does for PID 1"
            ));
        }
    }
}
