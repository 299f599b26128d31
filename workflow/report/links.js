// The report shows its items in frames. A link from an item to the file of another item opens that item.
window.addEventListener("message", event => {
  if (typeof event.data?.open !== "string") return;
  const to = new URL(event.data.open, `file:///${app.state.resultPath}`);
  const path = decodeURIComponent(to.pathname.slice(1));
  if (path in results) app.setView({content: "html", contentPath: results[path].data_uri + to.hash, resultPath: path});
});

// Snakemake embeds a page in its frame's address. Chromium refuses addresses above 2 MiB, so a short one replaces it.
for (const result of Object.values(results).filter(result => result.mime_type === "text/html")) {
  const data = result.data_uri;
  let address;
  Object.defineProperty(result, "data_uri", {get: () => {
    const bytes = () => Uint8Array.from(atob(data.slice(data.indexOf(",") + 1)), letter => letter.charCodeAt(0));
    return address ??= URL.createObjectURL(new Blob([bytes()], {type: "text/html;charset=utf-8"}));
  }});
}

// A figure that is wider than the window is scaled to it; a click shows its whole size.
document.addEventListener("click", event => event.target.closest(".p-3 > img")?.classList.toggle("whole"));

// On a telephone the menu is folded, until its button is pressed and again when an item has been chosen.
const telephone = matchMedia("(max-width: 760px)");
const fold = () => {
  if (!app) return setTimeout(fold, 50);
  const setView = app.setView;
  const shows = view => ["content", "contentPath", "contentText"].some(key => key in view);
  app.setView = view => setView(telephone.matches && shows(view) ? {...view, hideNavbar: true} : view);
  if (telephone.matches) app.setView({hideNavbar: true});
  else app.forceUpdate();
};
fold();
