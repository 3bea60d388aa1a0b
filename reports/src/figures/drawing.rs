//! A figure as a list of shapes, in pixels of a picture that is [`WIDTH`] wide.

/// Width of every figure: what a pull request comment has.
pub(super) const WIDTH: f64 = 840.0;

/// A colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Colour(pub(super) u8, pub(super) u8, pub(super) u8);

/// Colours that a colour-blind reader can tell apart (after Okabe and Ito), and greys.
impl Colour {
    pub(super) const INK: Self = Self(0x22, 0x26, 0x2b);
    pub(super) const QUIET: Self = Self(0x5c, 0x64, 0x6d);
    pub(super) const GRID: Self = Self(0xdd, 0xe1, 0xe6);
    pub(super) const BAND: Self = Self(0xee, 0xf1, 0xf4);
    pub(super) const GREY: Self = Self(0xb4, 0xba, 0xc1);
    pub(super) const BLUE: Self = Self(0x00, 0x72, 0xb2);
    pub(super) const SKY: Self = Self(0x8f, 0xcb, 0xee);
    pub(super) const GREEN: Self = Self(0x7c, 0xcb, 0xb4);
    pub(super) const YELLOW: Self = Self(0xf0, 0xd9, 0x4a);
    pub(super) const ORANGE: Self = Self(0xe6, 0x9f, 0x00);
    pub(super) const RED: Self = Self(0xc4, 0x3c, 0x00);
    pub(super) const PURPLE: Self = Self(0xb0, 0x5a, 0x8c);
}

/// Which point of a text its position is; vertically it is always the middle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// A filled rectangle between two corners.
    Rectangle([f64; 2], [f64; 2], Colour),
    /// A line through points, with its width.
    Line(Vec<[f64; 2]>, Colour, f64),
    /// Text on one line, with its size.
    Text([f64; 2], String, f64, Colour, Anchor),
}

/// A figure.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Drawing {
    /// Height, pixels.
    pub(super) height: f64,
    /// The shapes, each over those before it.
    pub(super) shapes: Vec<Shape>,
}

/// Size of ordinary text.
pub(super) const TEXT: f64 = 12.0;

impl Drawing {
    /// A figure with its title and a line of explanation under it. What follows begins at [`Drawing::TOP`].
    pub(super) fn titled(title: &str, under: &str) -> Self {
        let mut drawing = Self::default();
        let title = shortened(title, 90);
        drawing.text([12.0, 18.0], &title, 15.0, Colour::INK, Anchor::Start);
        let under = shortened(under, 130);
        drawing.text([12.0, 38.0], &under, TEXT, Colour::QUIET, Anchor::Start);
        drawing
    }

    /// Where the part under the title begins.
    pub(super) const TOP: f64 = 56.0;

    pub(super) fn rectangle(&mut self, from: [f64; 2], to: [f64; 2], colour: Colour) {
        self.shapes.push(Shape::Rectangle(from, to, colour));
    }

    pub(super) fn line(&mut self, points: Vec<[f64; 2]>, colour: Colour, width: f64) {
        self.shapes.push(Shape::Line(points, colour, width));
    }

    pub(super) fn text(
        &mut self,
        at: [f64; 2],
        text: &str,
        size: f64,
        colour: Colour,
        anchor: Anchor,
    ) {
        self.shapes
            .push(Shape::Text(at, text.to_owned(), size, colour, anchor));
    }

    /// Ordinary text in ink.
    pub(super) fn label(&mut self, at: [f64; 2], text: &str, anchor: Anchor) {
        self.text(at, text, TEXT, Colour::INK, anchor);
    }

    /// A row of swatches with their names.
    pub(super) fn legend(&mut self, mut at: [f64; 2], items: &[(Colour, &str)]) {
        let left = at[0];
        for (colour, name) in items {
            let width = 16.0 + estimated_width(name, TEXT) + 18.0;
            if at[0] + width > WIDTH && at[0] > left {
                at = [left, at[1] + 18.0];
            }
            self.rectangle([at[0], at[1] - 5.0], [at[0] + 10.0, at[1] + 5.0], *colour);
            self.label([at[0] + 16.0, at[1]], name, Anchor::Start);
            at[0] += width;
        }
        self.height = self.height.max(at[1] + 14.0);
    }
}

/// About the width of a text, pixels.
pub(super) fn estimated_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.6
}

/// Text of at most `most` characters, without characters that act on what is around them.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let text = crate::text::field(text);
    if text.chars().count() <= most {
        return text;
    }
    let kept: String = text.chars().take(most - 1).collect();
    format!("{kept}…")
}

/// The end of a name, which is what tells pods apart.
pub(super) fn name_end(name: &str, most: usize) -> String {
    let name = crate::text::field(name);
    let length = name.chars().count();
    if length <= most {
        return name;
    }
    let kept: String = name.chars().skip(length + 1 - most).collect();
    format!("…{kept}")
}
