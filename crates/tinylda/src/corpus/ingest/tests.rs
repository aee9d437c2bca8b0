//! Every reader on good, odd and bad input.
