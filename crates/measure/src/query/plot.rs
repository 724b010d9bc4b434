//! Plots a result as PNG or SVG. Needs no installed fonts: PNG uses a built-in one, and SVG contains text.

use crate::query::agg::Agg;
use crate::query::answer::{Answer, Line};
use crate::query::labels::{Labels, shortened};
use crate::query::plot_axis::{Marks, time_marks, value_marks};
use crate::time::format_time_short;
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontFamily, FontStyle, register_font};
use rawline_time::format_length;
use std::sync::LazyLock;

/// Maximum number of lines: more could not be distinguished.
pub const LINES_MAX: usize = 12;

/// Width and height in units of the layout; a PNG has 1.5 pixels per unit.
const SIZE: (i32, i32) = (1200, 640);
const PNG_SCALE: i32 = 3;
/// Supersampling in each direction, for smooth edges.
const PNG_SAMPLES: usize = 2;

const MARGIN: i32 = 24;
const TITLE_SIZE: i32 = 22;
const TEXT_SIZE: i32 = 16;
const LEGEND_ROW: i32 = 24;
const SWATCH: i32 = 26;
const LEGEND_CHARS: usize = 56;
const TITLE_CHARS: usize = 92;

const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const PALE_INK: RGBColor = RGBColor(0x66, 0x66, 0x66);
const GRID: RGBColor = RGBColor(0xe4, 0xe4, 0xe4);
const AXIS: RGBColor = RGBColor(0x99, 0x99, 0x99);

/// The colors of Okabe and Ito, which nearly everyone can distinguish, without yellow, which is too pale on white.
/// After the seventh line they repeat with dashes.
const COLORS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x33, 0x33, 0x33),
];

/// Image format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlotFormat {
    /// 1800 by 960 pixels.
    Png,
    /// Scalable, 1200 by 640.
    Svg,
}

/// Reasons why a plot can't be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlotError {
    /// Every value is NaN or infinite.
    #[error("there is nothing to draw: no value is a finite number")]
    NoNumbers,
    /// The drawing library failed because of a bug.
    #[error("cannot draw the plot: {0}")]
    Draw(String),
}

/// A plot of an answer.
#[derive(Debug)]
pub struct Plot<'a> {
    answer: &'a Answer,
}

impl<'a> Plot<'a> {
    /// Creates a plot of this answer.
    pub fn new(answer: &'a Answer) -> Plot<'a> {
        Plot { answer }
    }

    /// Draws the image and returns its bytes.
    pub fn draw(&self, format: PlotFormat) -> Result<Vec<u8>, PlotError> {
        static FONTS: LazyLock<bool> = LazyLock::new(|| {
            let normal = register_font("sans-serif", FontStyle::Normal, ttf_noto_sans::REGULAR);
            normal.and(register_font("sans-serif", FontStyle::Bold, ttf_noto_sans::BOLD)).is_ok()
        });
        if !*FONTS {
            return Err(PlotError::Draw("its font can't be read".to_owned()));
        }
        let scene = Scene::of(self.answer)?;
        match format {
            PlotFormat::Svg => {
                let mut text = String::new();
                let size = (SIZE.0.unsigned_abs(), SIZE.1.unsigned_abs());
                scene.draw(&SVGBackend::with_string(&mut text, size).into_drawing_area(), 1)?;
                Ok(text.into_bytes())
            }
            PlotFormat::Png => {
                let (width, height) = ((SIZE.0 * PNG_SCALE).unsigned_abs(), (SIZE.1 * PNG_SCALE).unsigned_abs());
                let mut pixels = vec![0xff; width as usize * height as usize * 3];
                let canvas = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
                scene.draw(&canvas, PNG_SCALE)?;
                drop(canvas);
                encode_png(&pixels, width as usize)
            }
        }
    }
}

fn draw_failed(error: impl std::fmt::Display) -> PlotError {
    PlotError::Draw(error.to_string())
}

/// Averages each square of samples into a pixel.
fn encode_png(samples: &[u8], width: usize) -> Result<Vec<u8>, PlotError> {
    let columns = width / PNG_SAMPLES;
    let mut pixels = Vec::with_capacity(samples.len() / (PNG_SAMPLES * PNG_SAMPLES));
    let mut sums = vec![0_u32; columns * 3];
    for band in samples.chunks_exact(width * 3 * PNG_SAMPLES) {
        sums.fill(0);
        for row in band.chunks_exact(width * 3) {
            for (sum, square) in sums.chunks_exact_mut(3).zip(row.chunks_exact(3 * PNG_SAMPLES)) {
                for pixel in square.chunks_exact(3) {
                    sum.iter_mut().zip(pixel).for_each(|(sum, &part)| *sum += u32::from(part));
                }
            }
        }
        pixels.extend(sums.iter().map(|sum| (sum / (PNG_SAMPLES * PNG_SAMPLES) as u32) as u8));
    }
    let rows = pixels.len() / (columns * 3).max(1);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, columns as u32, rows as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(draw_failed)?;
    writer.write_image_data(&pixels).map_err(draw_failed)?;
    writer.finish().map_err(draw_failed)?;
    Ok(bytes)
}

/// The content of a plot, before layout.
struct Scene<'a> {
    title: String,
    subtitle: String,
    legend: Vec<String>,
    left_out: usize,
    lines: Vec<&'a Line>,
    step_ms: i64,
    times: (i64, i64),
    time_marks: Marks<i64>,
    values: (f64, f64),
    value_marks: Marks<f64>,
}

impl<'a> Scene<'a> {
    fn of(answer: &'a Answer) -> Result<Scene<'a>, PlotError> {
        let finite =
            |line: &Line| line.points.iter().map(|point| point.1).filter(|value| value.is_finite()).collect::<Vec<_>>();
        let drawable: Vec<&Line> = answer.lines.iter().filter(|line| !finite(line).is_empty()).collect();
        // Lines with the greatest values come first.
        let mut by_size: Vec<(f64, usize)> = drawable
            .iter()
            .enumerate()
            .map(|(i, line)| (finite(line).into_iter().fold(f64::MIN, f64::max), i))
            .collect();
        by_size.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut kept: Vec<usize> = by_size.iter().take(LINES_MAX).map(|&(_, i)| i).collect();
        kept.sort_unstable();
        let lines: Vec<&Line> = kept.iter().filter_map(|&i| drawable.get(i).copied()).collect();
        let all: Vec<f64> = lines.iter().flat_map(|line| finite(line)).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if all.is_empty() {
            return Err(PlotError::NoNumbers);
        }
        let owned: Vec<Line> = lines.iter().map(|line| Line { points: Vec::new(), ..(*line).clone() }).collect();
        let labels = Labels::of(&owned);
        let legend = if lines.len() > 1 {
            labels.each.iter().map(|label| shortened(label, LEGEND_CHARS)).collect()
        } else {
            Vec::new()
        };
        let title = if lines.len() == 1 { labels.each.concat() } else { answer.selector.clone() };
        let title: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let (low, high, value_marks) = value_marks(least, greatest, 5);
        // A step is drawn at its start; the last step extends the plot only if it has a value.
        let times = (answer.from_ms, answer.to_ms.saturating_sub(answer.step_ms).max(answer.from_ms.saturating_add(1)));
        Ok(Scene {
            title: shortened(&title, TITLE_CHARS),
            subtitle: subtitle(answer),
            legend,
            left_out: drawable.len().saturating_sub(LINES_MAX),
            lines,
            step_ms: answer.step_ms,
            times,
            time_marks: time_marks(times.0, times.1, 10),
            values: (low, high),
            value_marks,
        })
    }

    fn draw<B: DrawingBackend>(&self, canvas: &DrawingArea<B, Shift>, scale: i32) -> Result<(), PlotError> {
        let pen = Pen { canvas, scale };
        canvas.fill(&WHITE).map_err(draw_failed)?;
        pen.text(&self.title, (MARGIN, 20), (HPos::Left, VPos::Top), TITLE_SIZE, FontStyle::Bold, INK)?;
        pen.text(&self.subtitle, (MARGIN, 52), (HPos::Left, VPos::Top), TEXT_SIZE, FontStyle::Normal, PALE_INK)?;
        let legend_top = self.draw_legend(&pen)?;
        let widths = self.value_marks.marks.iter().map(|mark| pen.width(&mark.1));
        let label_width = widths.collect::<Result<Vec<_>, _>>()?.into_iter().max().unwrap_or(0);
        let frame = Frame {
            left: MARGIN + label_width + 10,
            right: SIZE.0 - MARGIN - 16,
            top: 92,
            bottom: legend_top - 42,
            times: self.times,
            values: self.values,
        };
        self.draw_axes(&pen, &frame)?;
        for (i, line) in self.lines.iter().enumerate() {
            self.draw_line(&pen, &frame, line, i)?;
        }
        canvas.present().map_err(draw_failed)
    }

    /// Draws the legend in columns at the bottom and returns its top.
    fn draw_legend<B: DrawingBackend>(&self, pen: &Pen<'_, B>) -> Result<i32, PlotError> {
        let mut entries = self.legend.clone();
        if self.left_out > 0 {
            entries.push(format!("and {} more that are smaller", self.left_out));
        }
        if entries.is_empty() {
            return Ok(SIZE.1 - 10);
        }
        let widths = entries.iter().map(|entry| pen.width(entry)).collect::<Result<Vec<_>, _>>()?;
        let column_width = widths.into_iter().max().unwrap_or(0) + SWATCH + 34;
        let count = i32::try_from(entries.len()).unwrap_or(i32::MAX);
        let columns = ((SIZE.0 - 2 * MARGIN) / column_width.max(1)).clamp(1, count);
        let rows = (count + columns - 1) / columns;
        let top = SIZE.1 - 14 - rows * LEGEND_ROW;
        for (i, entry) in (0..).zip(&entries) {
            let (x, y) = (MARGIN + (i / rows) * column_width, top + (i % rows) * LEGEND_ROW + LEGEND_ROW / 2);
            let place = i as usize;
            if place < self.legend.len() {
                pen.path(&[(f64::from(x), f64::from(y)), (f64::from(x + SWATCH), f64::from(y))], place)?;
            }
            let ink = if place < self.legend.len() { INK } else { PALE_INK };
            pen.text(entry, (x + SWATCH + 8, y), (HPos::Left, VPos::Center), TEXT_SIZE, FontStyle::Normal, ink)?;
        }
        Ok(top)
    }

    fn draw_axes<B: DrawingBackend>(&self, pen: &Pen<'_, B>, frame: &Frame) -> Result<(), PlotError> {
        for (value, label) in &self.value_marks.marks {
            let y = frame.y(*value).round() as i32;
            pen.rule((frame.left, y), (frame.right, y), if *value == 0.0 { AXIS } else { GRID })?;
            pen.text(label, (frame.left - 8, y), (HPos::Right, VPos::Center), TEXT_SIZE, FontStyle::Normal, INK)?;
        }
        for (time, label) in &self.time_marks.marks {
            let x = frame.x(*time).round() as i32;
            pen.rule((x, frame.top), (x, frame.bottom), GRID)?;
            pen.rule((x, frame.bottom), (x, frame.bottom + 5), AXIS)?;
            // Dates are bolder than hours.
            let style = if label.contains(':') { FontStyle::Normal } else { FontStyle::Bold };
            pen.text(label, (x, frame.bottom + 9), (HPos::Center, VPos::Top), TEXT_SIZE, style, INK)?;
        }
        pen.rule((frame.left, frame.bottom), (frame.right, frame.bottom), AXIS)
    }

    /// Draws a line, interrupted at steps without a value.
    fn draw_line<B: DrawingBackend>(
        &self,
        pen: &Pen<'_, B>,
        frame: &Frame,
        line: &Line,
        place: usize,
    ) -> Result<(), PlotError> {
        for run in runs(&line.points, self.step_ms) {
            let points: Vec<(f64, f64)> = run.iter().map(|&(time, value)| (frame.x(time), frame.y(value))).collect();
            match points.as_slice() {
                [alone] => pen.dot(*alone, place)?,
                points => pen.path(&thinned(points), place)?,
            }
        }
        Ok(())
    }
}

fn subtitle(answer: &Answer) -> String {
    let what = match answer.agg {
        Agg::Avg => "average".to_owned(),
        Agg::Sum => "sum".to_owned(),
        Agg::Min => "minimum".to_owned(),
        Agg::Max => "maximum".to_owned(),
        Agg::Last => "last value".to_owned(),
        Agg::Count => "number of values".to_owned(),
        Agg::Rate => "growth per second".to_owned(),
        Agg::Quantile(_) => answer.agg.to_string(),
    };
    let by = match answer.by.as_deref() {
        None => String::new(),
        Some([]) => " of all series".to_owned(),
        Some(by) => format!(" by {}", by.join(", ")),
    };
    let by: String = by.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!(
        "{what}{by}, every {}; {} to {} UTC",
        format_length(answer.step_ms),
        format_time_short(answer.from_ms, answer.step_ms),
        format_time_short(answer.to_ms, answer.step_ms)
    )
}

/// The parts of a line between gaps. A gap is a step without a finite value. If measurements are less frequent than
/// steps, their usual distance is not a gap.
fn runs(points: &[(i64, f64)], step_ms: i64) -> impl Iterator<Item = &[(i64, f64)]> {
    let mut distances: Vec<i64> =
        points.iter().zip(points.iter().skip(1)).map(|(a, b)| b.0.saturating_sub(a.0)).collect();
    distances.sort_unstable();
    let usual_ms = distances.get(distances.len() / 2).copied().unwrap_or(step_ms).max(step_ms);
    let together = move |a: &(i64, f64), b: &(i64, f64)| {
        a.1.is_finite() && b.1.is_finite() && b.0.saturating_sub(a.0) <= usual_ms.saturating_add(usual_ms / 2)
    };
    points.chunk_by(together).filter(|run| run.iter().all(|point| point.1.is_finite()))
}

/// Removes points that others would cover: keeps the first, the last and both extremes of each pixel column.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let width = f64::from(SIZE.0);
    if (points.len() as f64) < width * 4.0 {
        return points.to_vec();
    }
    let mut kept = Vec::new();
    for column in points.chunk_by(|a, b| (a.0 * 1.5).floor() == (b.0 * 1.5).floor()) {
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let mut four: Vec<(f64, f64)> =
            [column.first(), column.iter().min_by(by_height), column.iter().max_by(by_height), column.last()]
                .into_iter()
                .flatten()
                .copied()
                .collect();
        four.sort_by(|a, b| a.0.total_cmp(&b.0));
        four.dedup();
        kept.extend(four);
    }
    kept
}

/// Maps times and values to positions.
struct Frame {
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
    times: (i64, i64),
    values: (f64, f64),
}

impl Frame {
    fn x(&self, time_ms: i64) -> f64 {
        let (from, to) = self.times;
        let part = (time_ms as f64 - from as f64) / (to as f64 - from as f64);
        f64::from(self.left) + part * f64::from(self.right - self.left)
    }

    fn y(&self, value: f64) -> f64 {
        // Halved, so that the full range of numbers doesn't overflow.
        let (low, high) = (self.values.0 / 2.0, self.values.1 / 2.0);
        let part = (value / 2.0 - low) / (high - low);
        f64::from(self.bottom) - part * f64::from(self.bottom - self.top)
    }
}

/// Draws in units of [`SIZE`].
struct Pen<'a, B: DrawingBackend> {
    canvas: &'a DrawingArea<B, Shift>,
    scale: i32,
}

impl<B: DrawingBackend> Pen<'_, B> {
    fn font(&self, size: i32, style: FontStyle) -> FontDesc<'static> {
        FontDesc::new(FontFamily::SansSerif, f64::from(size * self.scale), style)
    }

    fn text(
        &self,
        text: &str,
        (x, y): (i32, i32),
        (horizontal, vertical): (HPos, VPos),
        size: i32,
        style: FontStyle,
        color: RGBColor,
    ) -> Result<(), PlotError> {
        // In a bitmap, text is centered by its line, whose center is above that of its letters.
        let sink = if self.scale > 1 && matches!(vertical, VPos::Center) { size * self.scale / 8 } else { 0 };
        let style = self.font(size, style).color(&color).pos(Pos::new(horizontal, vertical));
        self.canvas.draw_text(text, &style, (x * self.scale, y * self.scale + sink)).map_err(draw_failed)
    }

    fn width(&self, text: &str) -> Result<i32, PlotError> {
        let style = TextStyle::from(self.font(TEXT_SIZE, FontStyle::Normal));
        let (width, _) = self.canvas.estimate_text_size(text, &style).map_err(draw_failed)?;
        Ok(i32::try_from(width).unwrap_or(i32::MAX) / self.scale + 1)
    }

    fn rule(&self, from: (i32, i32), to: (i32, i32), color: RGBColor) -> Result<(), PlotError> {
        let ends = [from, to].map(|(x, y)| (x * self.scale, y * self.scale));
        let style = color.stroke_width(self.scale.unsigned_abs());
        self.canvas.draw(&PathElement::new(ends.to_vec(), style)).map_err(draw_failed)
    }

    fn color(place: usize) -> RGBColor {
        COLORS.get(place % COLORS.len()).copied().unwrap_or(INK)
    }

    fn path(&self, points: &[(f64, f64)], place: usize) -> Result<(), PlotError> {
        let scale = f64::from(self.scale);
        let points: Vec<(i32, i32)> =
            points.iter().map(|(x, y)| ((x * scale).round() as i32, (y * scale).round() as i32)).collect();
        let style = Self::color(place).stroke_width((2 * self.scale).unsigned_abs());
        if place < COLORS.len() {
            return self.canvas.draw(&PathElement::new(points, style)).map_err(draw_failed);
        }
        let (dash, gap) = (7 * self.scale, 4 * self.scale);
        self.canvas.draw(&DashedPathElement::new(points, dash, gap, style)).map_err(draw_failed)
    }

    fn dot(&self, (x, y): (f64, f64), place: usize) -> Result<(), PlotError> {
        let scale = f64::from(self.scale);
        let center = ((x * scale).round() as i32, (y * scale).round() as i32);
        self.canvas.draw(&Circle::new(center, 2 * self.scale, Self::color(place).filled())).map_err(draw_failed)
    }
}
