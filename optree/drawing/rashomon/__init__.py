"""Drawing: pictures of Rashomon sets, a page that walks a set, and its trees for TimberTrek."""
