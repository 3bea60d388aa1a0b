//! Removes what has lost its owner.

use std::collections::BTreeSet;

use serde_json::Value;

use super::deletion::delete_pod;
use super::object::{controller_of, is_terminating, meta};
use crate::{Kind, Store};

/// One round: ReplicaSets without their Deployment and slices without their Service go at once, pods without their
/// ReplicaSet are deleted with their grace. Objects without an owner reference stay.
pub(super) fn collect(store: &Store) {
    for (kind, owner) in [
        (Kind::ReplicaSet, Kind::Deployment),
        (Kind::Pod, Kind::ReplicaSet),
        (Kind::EndpointSlice, Kind::Service),
    ] {
        for object in orphans(store, kind, owner) {
            let (namespace, name) = (meta(&object, "namespace"), meta(&object, "name"));
            if kind != Kind::Pod {
                let _ = store.remove(kind, namespace, name);
            } else if !is_terminating(&object) {
                let _ = delete_pod(store, namespace, name, None);
            }
        }
    }
}

fn orphans(store: &Store, kind: Kind, owner: Kind) -> Vec<std::sync::Arc<Value>> {
    // The owned are listed first: an owner that is missing in a later list is gone, not yet to come.
    let (mut objects, _) = store.list(kind, None);
    let (owners, _) = store.list(owner, None);
    let uids: BTreeSet<&str> = owners.iter().map(|o| meta(o, "uid")).collect();
    objects.retain(|object| {
        controller_of(object).is_some_and(|reference| {
            reference["kind"] == owner.as_str()
                && reference["uid"]
                    .as_str()
                    .is_some_and(|uid| !uids.contains(uid))
        })
    });
    objects
}
