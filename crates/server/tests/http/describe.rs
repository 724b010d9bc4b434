//! The API's descriptions say what the server does, no more and no less.
