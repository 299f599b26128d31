// Items of the report lie in frames. A link to the file beside one of them opens that item.
window.addEventListener("message", event => {
  if (typeof event.data?.open !== "string") return;
  const to = new URL(event.data.open, `file:///${app.state.resultPath}`);
  const path = decodeURIComponent(to.pathname.slice(1));
  if (path in results) app.setView({content: "html", contentPath: results[path].data_uri + to.hash, resultPath: path});
});

// Chromium shows no frame whose address, that is to say the page itself, is longer than 2 MiB.
for (const result of Object.values(results).filter(result => result.mime_type === "text/html")) {
  const data = result.data_uri;
  let address;
  Object.defineProperty(result, "data_uri", {get: () => {
    const bytes = () => Uint8Array.from(atob(data.slice(data.indexOf(",") + 1)), letter => letter.charCodeAt(0));
    return address ??= URL.createObjectURL(new Blob([bytes()], {type: "text/html;charset=utf-8"}));
  }});
}
