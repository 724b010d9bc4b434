//! Writers' schemas, and the plans for reading their messages.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::framing::{Framing, FramingError, WriterId};
use crate::limits::Limits;
use crate::plan::Plan;
use crate::schema::Schema;

/// Known schemas, shared by threads.
#[derive(Debug, Default)]
pub struct SchemaStore {
    schemas: RwLock<HashMap<WriterId, Arc<Schema>>>,
    /// By writer and by the reader's address, since readers with one fingerprint may differ in defaults. A plan keeps
    /// its reader alive, so the address isn't reused.
    plans: RwLock<HashMap<(WriterId, usize), Arc<Plan>>>,
    limits: Limits,
}

impl SchemaStore {
    /// Creates an empty store, whose plans have these limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Adds a schema under its fingerprint, and returns the fingerprint.
    pub fn add(&self, schema: &Arc<Schema>) -> Result<WriterId, FramingError> {
        let id = WriterId::Fingerprint(schema.fingerprint());
        self.add_as(id, schema)?;
        Ok(id)
    }

    /// Adds a schema under the id that messages use for it. Adding one that [reads like](Schema::reads_like) it again
    /// has no effect; any other is refused.
    pub fn add_as(&self, id: WriterId, schema: &Arc<Schema>) -> Result<(), FramingError> {
        let mut schemas = self.schemas.write().unwrap_or_else(PoisonError::into_inner);
        let known = schemas.entry(id).or_insert_with(|| Arc::clone(schema));
        if known.reads_like(schema) { Ok(()) } else { Err(FramingError::Taken(id)) }
    }

    /// The schema with this id.
    pub fn schema(&self, id: WriterId) -> Result<Arc<Schema>, FramingError> {
        let schemas = self.schemas.read().unwrap_or_else(PoisonError::into_inner);
        schemas.get(&id).cloned().ok_or(match id {
            WriterId::Known => FramingError::NoWriter,
            WriterId::Fingerprint(fingerprint) => FramingError::UnknownFingerprint(fingerprint),
            WriterId::Number(number) => FramingError::UnknownNumber(number),
        })
    }

    /// The plan for reading messages of this schema as `reader`, or as they were written.
    pub fn plan(&self, id: WriterId, reader: Option<&Arc<Schema>>) -> Result<Arc<Plan>, FramingError> {
        let key = (id, reader.map_or(0, |reader| Arc::as_ptr(reader).addr()));
        if let Some(plan) = self.plans.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(plan));
        }
        let writer = self.schema(id)?;
        let plan = Arc::new(Plan::new(&writer, reader.unwrap_or(&writer), self.limits)?);
        let mut plans = self.plans.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(plans.entry(key).or_insert(plan)))
    }
}

/// Finds the plan for each message of one framing; consecutive messages of one schema need no lookup.
#[derive(Debug, Clone)]
pub struct MessageReader {
    store: Arc<SchemaStore>,
    framing: Framing,
    reader: Option<Arc<Schema>>,
    last: Option<(WriterId, Arc<Plan>)>,
}

impl MessageReader {
    /// Reads messages as `reader`, or as they were written.
    pub fn new(store: Arc<SchemaStore>, framing: Framing, reader: Option<Arc<Schema>>) -> Self {
        Self { store, framing, reader, last: None }
    }

    /// The schema as which messages are read; `None` if they are read as they were written.
    pub fn reader(&self) -> Option<&Arc<Schema>> {
        self.reader.as_ref()
    }

    /// The plan that reads the message, and the message without its framing.
    #[inline]
    pub fn open<'m>(&mut self, message: &'m [u8]) -> Result<(&Arc<Plan>, &'m [u8]), FramingError> {
        let (id, value) = self.framing.open(message)?;
        let last = match self.last.take() {
            Some(last) if last.0 == id => last,
            _ => (id, self.store.plan(id, self.reader.as_ref())?),
        };
        Ok((&self.last.insert(last).1, value))
    }
}
