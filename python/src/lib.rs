//! The native half of the Python package `rawline`.
//!
//! ```text
//! arguments     numbers from Python
//! count         counts in texts
//! runtime       one tokio runtime; waiting for it from Python, with and without asyncio
//! buffer        bytes shared with Python without a copy
//! records       records from Python: bytes-like objects or Arrow arrays
//! source        the memory of received batches
//! kafka         Kafka's batches
//! received      batches, checked
//! batch, batches, message  batches in Python, and their records with keys
//! arrow, columns, fields  records as Arrow arrays and tables
//! client, producer, consumer, subscription
//! value         converts structured values between Python objects and bytes
//! avro, measurement
//! ```

mod arguments;
mod arrow;
mod avro;
mod batch;
mod batches;
mod buffer;
mod client;
mod columns;
mod completions;
mod consumer;
mod count;
mod error;
mod fields;
mod group;
mod kafka;
mod measurement;
mod message;
mod producer;
mod received;
mod records;
mod runtime;
mod source;
mod subscription;
mod value;

use pyo3::prelude::*;

#[pymodule]
fn _rawline(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<client::ClientCore>()?;
    module.add_class::<producer::ProducerCore>()?;
    module.add_class::<producer::Receipt>()?;
    module.add_class::<producer::RecordSource>()?;
    module.add_class::<consumer::ConsumerCore>()?;
    module.add_class::<subscription::SubscriptionCore>()?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<batch::BatchIterator>()?;
    module.add_class::<batches::Batches>()?;
    module.add_class::<message::Message>()?;
    module.add_function(wrap_pyfunction!(batch::build_batch, module)?)?;
    module.add_function(wrap_pyfunction!(batch::parse_batch, module)?)?;
    module.add_function(wrap_pyfunction!(runtime::after_fork, module)?)?;
    module.add_function(wrap_pyfunction!(runtime::before_exit, module)?)?;
    avro::register(module)?;
    measurement::register(module)?;
    value::register(module)
}
