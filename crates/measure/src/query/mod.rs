//! Queries: chooses series, tier and rows, and formats the result.

mod agg;
mod answer;
mod cells;
mod error;
mod export;
mod groups;
mod labels;
mod nearby;
mod overview;
pub mod plot;
mod plot_axis;
mod run;
mod scan;
pub mod select;
mod select_error;
mod select_fault;
mod series;
mod series_list;
mod spec;
pub mod table;

pub use agg::Agg;
pub use answer::{Answer, Line};
pub use error::QueryError;
pub use nearby::{METRICS_MAX, NEARBY_MAX, Nearby};
pub use overview::{
    LISTED_BYTES_MAX, LISTED_METRICS_MAX, LISTED_TAGS_MAX, LISTED_VALUES_MAX, Metric, MetricList, Tag, TagList,
    list_metrics, list_tags, list_topics,
};
pub use run::{choose_tier, list_series, run};
pub use scan::ReadCounts;
pub use series::{Series, label};
pub use series_list::{SPAN_ROWS_MAX, SeriesList, Span, list};
pub use spec::{Query, QueryLimits};
