"""Drawing: views on a tree as text, DOT, matplotlib pictures and SVG."""
