//! Drawings as SVG and PNG, drawn by plotters with a font of our own: no system library and no installed font is needed.

use std::sync::LazyLock;

use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color, FontFamily, FontStyle, IntoTextStyle, RGBColor, WHITE, register_font,
};

use super::drawing::{Anchor, Colour, Drawing, Shape, WIDTH};

/// Pixels of a PNG for each of a drawing's: sharp also where a screen has two for one.
const PNG_SCALE: f64 = 2.0;
/// plotters draws text on a bitmap higher than it says: by this share of the size.
const PNG_DROP: f64 = 0.14;
/// plotters' size of a font against the size of its em.
const FONT_SIZE: f64 = 1.24;

/// Makes the font known to plotters, once in a process.
static FONT: LazyLock<bool> = LazyLock::new(|| {
    register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular()).is_ok()
});

/// A figure that could not be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the figure could not be drawn: {0}")]
pub struct DrawError(String);

impl DrawError {
    fn of(error: impl ToString) -> Self {
        Self(error.to_string())
    }
}

/// The drawing as an SVG document.
pub(super) fn svg(drawing: &Drawing) -> Result<String, DrawError> {
    let mut text = String::new();
    let size = (WIDTH as u32, drawing.height.ceil() as u32);
    draw(drawing, SVGBackend::with_string(&mut text, size), 1.0, 0.0)?;
    Ok(text)
}

/// The drawing as a PNG file, twice as large.
pub(super) fn png(drawing: &Drawing) -> Result<Vec<u8>, DrawError> {
    let size = [WIDTH, drawing.height].map(|length| (length * PNG_SCALE).ceil() as u32);
    let mut pixels = vec![0; size[0] as usize * size[1] as usize * 3];
    let backend = BitMapBackend::with_buffer(&mut pixels, (size[0], size[1]));
    draw(drawing, backend, PNG_SCALE, PNG_DROP)?;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size[0], size[1]);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .map_err(DrawError::of)?;
    Ok(file)
}

fn draw<B: DrawingBackend>(
    drawing: &Drawing,
    backend: B,
    scale: f64,
    drop: f64,
) -> Result<(), DrawError> {
    if !*FONT {
        return Err(DrawError::of("the font in the program cannot be read"));
    }
    let area = backend.into_drawing_area();
    area.fill(&WHITE).map_err(DrawError::of)?;
    for shape in &drawing.shapes {
        draw_shape(&area, shape, scale, drop)?;
    }
    area.present().map_err(DrawError::of)
}

fn draw_shape<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    shape: &Shape,
    scale: f64,
    drop: f64,
) -> Result<(), DrawError> {
    let pixel = |at: &[f64; 2]| {
        let [x, y] = at.map(|length| (length * scale).round() as i32);
        (x, y)
    };
    match shape {
        Shape::Rectangle(from, to, colour) => {
            let corners = [pixel(from), pixel(to)];
            area.draw(&Rectangle::new(corners, rgb(*colour).filled()))
        }
        Shape::Line(points, colour, width) => {
            let points: Vec<_> = points.iter().map(pixel).collect();
            let width = (width * scale).round().max(1.0) as u32;
            area.draw(&PathElement::new(points, rgb(*colour).stroke_width(width)))
        }
        Shape::Text(at, text, size, colour, anchor) => {
            let style = (FontFamily::SansSerif, size * FONT_SIZE * scale)
                .with_color(rgb(*colour))
                .into_text_style(area)
                .pos(Pos::new(horizontal(*anchor), VPos::Center));
            let at = [at[0], at[1] + size * drop];
            area.draw(&Text::new(text.as_str(), pixel(&at), style))
        }
    }
    .map_err(DrawError::of)
}

const fn horizontal(anchor: Anchor) -> HPos {
    match anchor {
        Anchor::Start => HPos::Left,
        Anchor::Middle => HPos::Center,
        Anchor::End => HPos::Right,
    }
}

const fn rgb(Colour(red, green, blue): Colour) -> RGBColor {
    RGBColor(red, green, blue)
}
