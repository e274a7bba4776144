//! The privacy path: from records to publishable numbers.
