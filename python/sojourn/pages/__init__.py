"""Pages that the tool writes: one design, one self-contained HTML file each, which needs no network and no script."""

from sojourn.pages.model import Cell, File, Fold, Page, Picture, Table, Tile
from sojourn.pages.pictures import picture
from sojourn.pages.render import PAGE, render, write

__all__ = ["PAGE", "Cell", "File", "Fold", "Page", "Picture", "Table", "Tile", "picture", "render", "write"]
