//! Reports of an analysis: the HTML timeline and JSON. No decisions are made here.
