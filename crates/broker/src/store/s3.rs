//! Objects in an S3 bucket: one PUT a commit, created only if nothing is there.
