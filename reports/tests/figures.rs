//! Figures: legible at the width of a pull request comment, the same every time, whatever the run is like.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../examples/sample/mod.rs"]
mod sample;

use rollscope_analyzer::Analysis;
use rollscope_records::Recording;
use rollscope_reports::Figure;

/// Width, height and RGB pixels of a PNG.
fn decoded(file: &[u8]) -> (usize, usize, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(file))
        .read_info()
        .unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let pixels = bytes.chunks_exact(3).map(|p| [p[0], p[1], p[2]]).collect();
    (info.width as usize, info.height as usize, pixels)
}

/// Sizes of the texts of an SVG, pixels.
fn text_sizes(svg: &str) -> Vec<f64> {
    let sizes = svg.split("font-size=\"").skip(1);
    sizes
        .map(|rest| rest.split('"').next().unwrap().parse().unwrap())
        .collect()
}

/// The texts of an SVG.
fn texts(svg: &str) -> Vec<&str> {
    let texts = svg.split("<text ").skip(1);
    texts
        .map(|t| {
            t.split(">\n")
                .nth(1)
                .unwrap()
                .trim_end_matches("</text")
                .trim()
        })
        .collect()
}

/// The run with as many pods as that, each deleted.
fn with_pods(pods: usize) -> (Analysis, Recording) {
    let (mut a, r) = sample::early_close(4_400);
    let one = a.pods[0].clone();
    a.pods = (0..pods)
        .map(|n| {
            let mut pod = one.clone();
            pod.name = format!("checkout-with-a-name-that-is-longer-than-its-lane-{n:05}");
            pod
        })
        .collect();
    (a, r)
}

#[test]
fn every_figure_is_840_pixels_wide_and_its_png_twice_that() {
    let (a, r) = sample::early_close(4_400);
    for figure in Figure::ALL {
        let svg = figure.svg(&a, &r).unwrap();
        assert!(svg.starts_with("<svg width=\"840\" "), "{}", figure.name());
        let (width, height, _) = decoded(&figure.png(&a, &r).unwrap());
        assert_eq!(width, 1_680);
        assert!(
            (100..=2_400).contains(&height),
            "{}: {height}",
            figure.name()
        );
    }
}

#[test]
fn text_is_at_least_eleven_pixels_high_and_inside() {
    let (a, r) = with_pods(500);
    for figure in Figure::ALL {
        let svg = figure.svg(&a, &r).unwrap();
        assert!(
            text_sizes(&svg).iter().all(|size| *size >= 11.0),
            "{}",
            figure.name()
        );
        for x in svg.split("<text x=\"").skip(1) {
            let x: i32 = x.split('"').next().unwrap().parse().unwrap();
            assert!((0..=840).contains(&x), "{}: {x}", figure.name());
        }
    }
}

#[test]
fn text_stands_in_the_png_without_an_installed_font() {
    let (a, r) = sample::early_close(4_400);
    let (width, _, pixels) = decoded(&Figure::Timeline.png(&a, &r).unwrap());
    let title = pixels.chunks(width).take(56).flat_map(|row| &row[..600]);
    let dark = title.filter(|p| p.iter().all(|c| *c < 0x60)).count();
    assert!(dark > 500, "{dark} dark pixels where the title is");
}

#[test]
fn five_hundred_pods_leave_a_figure_of_a_screen_that_says_so() {
    let (a, r) = with_pods(500);
    for figure in [Figure::Timeline, Figure::Propagation, Figure::Shutdown] {
        let svg = figure.svg(&a, &r).unwrap();
        assert!(
            svg.contains("24 of 500 pods are drawn, 476 are left out."),
            "{}",
            figure.name()
        );
        assert!(svg.contains("…"), "names are cut at their beginning");
        assert!(svg.contains("-00023"), "their ends are kept");
    }
}

#[test]
fn lags_and_exits_are_written_at_their_bars() {
    let (a, r) = sample::early_close(4_400);
    let svg = Figure::Propagation.svg(&a, &r).unwrap();
    for lag in ["1.90 s", "2.90 s", "2.30 s"] {
        assert!(texts(&svg).contains(&lag), "{lag} in {:?}", texts(&svg));
    }
    let svg = Figure::Shutdown.svg(&a, &r).unwrap();
    let exits = texts(&svg)
        .iter()
        .filter(|t| t.starts_with("0 Completed"))
        .count();
    assert_eq!(exits, 3);
}

#[test]
fn a_run_without_pods_and_requests_says_so() {
    let (mut a, mut r) = sample::clean();
    a.pods.clear();
    a.stages.clear();
    r.requests.clear();
    let says = |figure: Figure, text: &str| {
        let svg = figure.svg(&a, &r).unwrap();
        assert!(svg.contains(text), "{}: {svg}", figure.name());
        assert!(!figure.png(&a, &r).unwrap().is_empty());
    };
    says(Figure::Timeline, "0 allowed");
    says(Figure::Outcomes, "No request was recorded.");
    says(Figure::Latency, "No request was answered.");
    says(Figure::Propagation, "No pod was seen terminating.");
    says(Figure::Shutdown, "No pod was seen terminating.");
}

#[test]
fn a_long_run_has_no_more_columns_than_pixels() {
    let (a, mut r) = sample::early_close(4_400);
    let mut n = 0;
    r.requests.edit_each(|request| {
        request.scheduled.0 = n * 20_000_000_000;
        n += 1;
    });
    let svg = Figure::Outcomes.svg(&a, &r).unwrap();
    assert!(svg.matches("<rect").count() < 1_000);
}
