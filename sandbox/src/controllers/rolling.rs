//! The arithmetic of a rolling update: how large each ReplicaSet may be next. Pure.

use serde_json::Value;

/// `maxSurge` and `maxUnavailable` of a rolling update, in pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Pods over the desired number, at most.
    pub(crate) surge: i64,
    /// Pods of the desired number that may be unavailable, at most.
    pub(crate) unavailable: i64,
}

/// Size and availability of one ReplicaSet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// `spec.replicas`.
    pub(crate) replicas: i64,
    /// `status.availableReplicas`.
    pub(crate) available: i64,
}

impl Bounds {
    /// The bounds of a Deployment's strategy: a percentage of the desired number is rounded up for the surge and down
    /// for the unavailable; both 0 would never move, so that one may be unavailable. `Recreate` has none.
    pub(crate) fn of(strategy: &Value, desired: i64) -> Self {
        if strategy["type"] == "Recreate" || desired == 0 {
            return Self {
                surge: 0,
                unavailable: 0,
            };
        }
        let rolling = &strategy["rollingUpdate"];
        let quarter = Amount::Percent(25);
        let read = |field: &str| {
            Amount::read(&rolling[field])
                .ok()
                .flatten()
                .unwrap_or(quarter)
        };
        let surge = read("maxSurge").up(desired);
        let unavailable = read("maxUnavailable").down(desired);
        if surge == 0 && unavailable == 0 {
            return Self {
                surge,
                unavailable: 1,
            };
        }
        Self {
            surge,
            unavailable: unavailable.min(desired),
        }
    }

    /// Checks a strategy as the API server does.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn check(strategy: &Value) -> Result<(), String> {
        match strategy["type"].as_str() {
            None | Some("RollingUpdate") => (),
            Some("Recreate") if strategy["rollingUpdate"].is_null() => return Ok(()),
            Some("Recreate") => {
                return Err("strategy.rollingUpdate is not allowed with type Recreate".to_owned());
            }
            Some(other) => {
                return Err(format!(
                    "strategy.type {other:?}: expected RollingUpdate or Recreate"
                ));
            }
        }
        let read = |field: &str| {
            Amount::read(&strategy["rollingUpdate"][field])
                .map_err(|e| format!("strategy.rollingUpdate.{field}: {e}"))
        };
        let (surge, unavailable) = (read("maxSurge")?, read("maxUnavailable")?);
        if surge.is_some_and(Amount::is_zero) && unavailable.is_some_and(Amount::is_zero) {
            return Err(
                "maxSurge and maxUnavailable are both 0: no pod could ever be replaced".to_owned(),
            );
        }
        Ok(())
    }
}

/// A number of pods, or a share of the desired number.
#[derive(Debug, Clone, Copy)]
enum Amount {
    Pods(i64),
    Percent(i64),
}

impl Amount {
    fn read(value: &Value) -> Result<Option<Self>, String> {
        match value {
            Value::Null => Ok(None),
            Value::Number(n) => match n.as_i64() {
                Some(n) if n >= 0 => Ok(Some(Self::Pods(n))),
                _ => Err(format!("{n} is not a number of pods")),
            },
            Value::String(text) => text
                .strip_suffix('%')
                .and_then(|n| n.parse().ok())
                .filter(|n| *n >= 0)
                .map(|n| Some(Self::Percent(n)))
                .ok_or_else(|| format!("{text:?}: expected a number or a percentage such as 25%")),
            other => Err(format!(
                "{other}: expected a number or a percentage such as 25%"
            )),
        }
    }

    const fn is_zero(self) -> bool {
        matches!(self, Self::Pods(0) | Self::Percent(0))
    }

    const fn up(self, desired: i64) -> i64 {
        match self {
            Self::Pods(pods) => pods,
            Self::Percent(share) => (share * desired + 99) / 100,
        }
    }

    const fn down(self, desired: i64) -> i64 {
        match self {
            Self::Pods(pods) => pods,
            Self::Percent(share) => share * desired / 100,
        }
    }
}

/// The new ReplicaSet's next size: it grows into what the surge leaves, and shrinks to the desired number.
pub(crate) fn new_size(desired: i64, bounds: Bounds, new: i64, total: i64) -> i64 {
    if new >= desired {
        return desired;
    }
    let room = (desired + bounds.surge - total).max(0);
    new + room.min(desired - new)
}

/// The old ReplicaSets' next sizes (oldest first), or `None` where nothing may shrink now: first their unavailable
/// pods go, then as many available ones as are over the minimum.
pub(crate) fn old_sizes(desired: i64, bounds: Bounds, new: Size, old: &[Size]) -> Option<Vec<i64>> {
    let minimum = desired - bounds.unavailable;
    let total = new.replicas + old.iter().map(|o| o.replicas).sum::<i64>();
    let unavailable_new = (new.replicas - new.available).max(0);
    let may_go = total - minimum - unavailable_new;
    if may_go <= 0 {
        return None;
    }
    let mut sizes: Vec<i64> = old.iter().map(|o| o.replicas).collect();
    let mut left = may_go;
    for (size, o) in sizes.iter_mut().zip(old) {
        let gone = (*size - o.available).clamp(0, left);
        *size -= gone;
        left -= gone;
    }
    let available = new.available + old.iter().map(|o| o.available).sum::<i64>();
    let mut spare = (available - minimum).max(0);
    for size in &mut sizes {
        let gone = (*size).min(spare);
        *size -= gone;
        spare -= gone;
    }
    let before = old.iter().map(|o| o.replicas);
    sizes.iter().copied().ne(before).then_some(sizes)
}

/// Sizes of several active ReplicaSets when the Deployment is scaled in the middle of a rollout: the difference is
/// spread in proportion to their sizes (given largest first), and the rest goes to the first.
pub(crate) fn proportional(sizes: &[i64], allowed: i64) -> Vec<i64> {
    let total: i64 = sizes.iter().sum();
    let difference = allowed - total;
    let mut left = difference;
    let mut scaled: Vec<i64> = sizes
        .iter()
        .map(|&size| {
            if total == 0 || difference == 0 {
                return size;
            }
            // Rounded to nearest.
            let share = (2 * size * difference + total * difference.signum()) / (2 * total);
            let share = if difference > 0 {
                share.min(left)
            } else {
                share.max(left).max(-size)
            };
            left -= share;
            size + share
        })
        .collect();
    if let Some(first) = scaled.first_mut() {
        *first = (*first + left).max(0);
    }
    scaled
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn surge_is_rounded_up_and_unavailable_down() {
        let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
        let cases = [
            (3, 1, 0),
            (4, 1, 1),
            (5, 2, 1),
            (10, 3, 2),
            (1, 1, 0),
            (0, 0, 0),
        ];
        for (desired, surge, unavailable) in cases {
            assert_eq!(
                Bounds::of(&strategy, desired),
                Bounds { surge, unavailable },
                "{desired}"
            );
        }
    }

    #[test]
    fn bounds_that_round_to_nothing_still_let_one_pod_go() {
        let strategy = json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}});
        let bounds = Bounds::of(&strategy, 3);
        assert_eq!((bounds.surge, bounds.unavailable), (0, 1));
    }

    #[test]
    fn impossible_strategies_are_refused() {
        for strategy in [
            json!({"type": "BlueGreen"}),
            json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}),
            json!({"rollingUpdate": {"maxSurge": "many"}}),
            json!({"rollingUpdate": {"maxSurge": -1}}),
            json!({"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
        ] {
            assert!(Bounds::check(&strategy).is_err(), "{strategy}");
        }
        assert_eq!(Bounds::check(&json!({"type": "Recreate"})), Ok(()));
        assert_eq!(Bounds::check(&json!(null)), Ok(()));
    }

    #[test]
    fn scaling_in_mid_rollout_keeps_the_proportions() {
        assert_eq!(proportional(&[10, 5], 30), [20, 10]);
        assert_eq!(proportional(&[4, 2], 3), [2, 1]);
        assert_eq!(proportional(&[3, 1], 0), [0, 0]);
        assert_eq!(proportional(&[], 3), Vec::<i64>::new());
    }

    /// A rollout in small steps: pods become available, or are lost, in any order between the controller's steps.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Control,
        NewBecomesAvailable,
        OldBecomesUnavailable,
        OldBecomesAvailable,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => Just(Step::Control),
            3 => Just(Step::NewBecomesAvailable),
            1 => Just(Step::OldBecomesUnavailable),
            1 => Just(Step::OldBecomesAvailable),
        ]
    }

    /// What the ReplicaSet controller does to a set's availability when it shrinks: unavailable pods go first.
    fn shrink(set: &mut Size, to: i64) {
        set.replicas = to;
        set.available = set.available.min(to);
    }

    fn control(desired: i64, bounds: Bounds, new: &mut Size, old: &mut [Size]) -> bool {
        let total = new.replicas + old.iter().map(|o| o.replicas).sum::<i64>();
        let size = new_size(desired, bounds, new.replicas, total);
        if size != new.replicas {
            new.replicas = size;
            return true;
        }
        let Some(sizes) = old_sizes(desired, bounds, *new, old) else {
            return false;
        };
        for (set, size) in old.iter_mut().zip(sizes) {
            shrink(set, size);
        }
        true
    }

    proptest! {
        #[test]
        fn a_rolling_update_never_exceeds_its_bounds_and_ends(
            desired in 1_i64..12,
            surge in 0_i64..5,
            unavailable in 0_i64..5,
            split in 0_i64..12,
            steps in proptest::collection::vec(step(), 0..80),
        ) {
            let strategy = json!({"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}});
            let bounds = Bounds::of(&strategy, desired);
            let split = split.min(desired);
            let full = |n| Size { replicas: n, available: n };
            let mut old = [full(split), full(desired - split)];
            let mut new = full(0);
            for step in steps {
                let available = |new: &Size, old: &[Size]| new.available + old.iter().map(|o| o.available).sum::<i64>();
                match step {
                    Step::Control => {
                        let before = available(&new, &old);
                        control(desired, bounds, &mut new, &mut old);
                        let total = new.replicas + old.iter().map(|o| o.replicas).sum::<i64>();
                        prop_assert!(total <= desired + bounds.surge, "{total} pods");
                        let after = available(&new, &old);
                        let minimum = desired - bounds.unavailable;
                        prop_assert!(after >= minimum.min(before), "{after} available of {before}");
                    }
                    Step::NewBecomesAvailable => new.available = (new.available + 1).min(new.replicas),
                    Step::OldBecomesUnavailable => old[0].available = (old[0].available - 1).max(0),
                    Step::OldBecomesAvailable => old[0].available = (old[0].available + 1).min(old[0].replicas),
                }
            }
            for _ in 0..100 {
                new.available = new.replicas;
                control(desired, bounds, &mut new, &mut old);
            }
            prop_assert_eq!((new.replicas, old[0].replicas, old[1].replicas), (desired, 0, 0));
        }

        #[test]
        fn scaling_in_proportion_gives_exactly_what_is_allowed(
            mut sizes in proptest::collection::vec(1_i64..20, 1..5),
            allowed in 0_i64..80,
        ) {
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            let scaled = proportional(&sizes, allowed);
            prop_assert!(scaled.iter().all(|s| *s >= 0), "{:?}", scaled);
            prop_assert_eq!(scaled.iter().sum::<i64>(), allowed);
        }
    }
}
