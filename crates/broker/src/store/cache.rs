//! Local copies of immutable objects, bounded; losing them loses nothing.
