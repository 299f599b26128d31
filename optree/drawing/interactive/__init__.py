"""Interactive pages: the drawing of trees that all pages share, and the page of one tree."""
