// Short texts about what has happened, which screen readers read out.

const SHOWN_MS = 5000;
const notice = watchable(null);
let timer = 0;

/** Shows a text for some seconds. */
function announce(text) {
  clearTimeout(timer);
  notice.set({ text });
  timer = setTimeout(() => notice.set(null), SHOWN_MS);
}

function Notices() {
  const shown = useValue(notice);
  const isOnline = useValue(online);
  return html`
    <div class="notices">
      <div role="status" class=${shown ? "notice" : ""}>${shown?.text}</div>
      <div role="status" class=${isOnline ? "" : "notice notice-offline"}>
        ${isOnline ? "" : "You are offline. Fanfold goes on when you are back."}
      </div>
    </div>
  `;
}
