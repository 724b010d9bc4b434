//! Objects on a local directory: appended to preallocated segments, one owner a directory.
