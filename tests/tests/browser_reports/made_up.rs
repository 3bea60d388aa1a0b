//! Runs for the browser that are larger than those of the sandbox.

use rollscope_analyzer::Analysis;
use rollscope_records::{Recording, WatchRecord};
use serde_json::json;

use crate::sample;

/// The sample with `count` pods: its first pods, again and again under other names.
pub(crate) fn many_pods(count: usize) -> (Analysis, Recording) {
    let (mut analysis, mut recording) = sample::early_close(4_400);
    let few = analysis.pods.clone();
    let watch = recording.watch.clone();
    for n in few.len()..count {
        let mut pod = few[n % few.len()].clone();
        let uid = format!("uid-{n}");
        for record in &watch {
            if let WatchRecord::Event { object, .. } = record
                && object.pointer("/metadata/uid") == Some(&json!(pod.uid))
            {
                let mut record = record.clone();
                if let WatchRecord::Event { object, .. } = &mut record {
                    object["metadata"]["uid"] = json!(uid);
                }
                recording.watch.push(record);
            }
        }
        pod.name = format!("{}-{n}", pod.name);
        pod.uid = uid;
        pod.failed = 0;
        analysis.pods.push(pod);
    }
    (analysis, recording)
}
