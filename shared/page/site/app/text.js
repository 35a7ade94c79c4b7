// The texts of posts. They are shown as text; addresses in them become links, and pictures are loaded on request alone.

const ADDRESS = /https?:\/\/[^\s<>"'`]+/g;
/** Signs at the end of an address that belong to the sentence around it. */
const AFTER = /[.,;:!?)\]}»”’]+$/;
const PICTURE = /\.(png|jpe?g|gif|webp|avif)$/i;

/** The pieces of a text: strings, and {address} for links. */
function piecesOf(text) {
  const pieces = [];
  let from = 0;
  for (const match of text.matchAll(ADDRESS)) {
    const address = match[0].replace(AFTER, "");
    if (!URL.canParse(address)) continue;
    pieces.push(text.slice(from, match.index), { address });
    from = match.index + address.length;
  }
  pieces.push(text.slice(from));
  return pieces.filter((piece) => piece !== "");
}

const isPicture = (address) => address.startsWith("https:") && PICTURE.test(new URL(address).pathname);

function Text({ text }) {
  const pieces = piecesOf(text);
  const pictures = pieces.filter((piece) => piece.address && isPicture(piece.address));
  return html`
    <div class="text" data-text dir="auto">
      ${pieces.map((piece) =>
        piece.address
          ? html`<a href=${piece.address} target="_blank" rel="noopener noreferrer nofollow ugc">${piece.address}</a>`
          : piece,
      )}
    </div>
    ${pictures.map(({ address }) => html`<${Picture} key=${address} address=${address} />`)}
  `;
}

function Picture({ address }) {
  const [state, setState] = useState("closed");
  if (state === "failed") return html`<p class="hint">The picture cannot be loaded.</p>`;
  if (state === "open") {
    return html`<img class="picture" src=${address} alt="Picture from ${new URL(address).host}" referrerpolicy="no-referrer"
      onError=${() => setState("failed")} />`;
  }
  return html`
    <button type="button" class="button button-picture" onClick=${() => setState("open")}>
      Show picture <span class="hint">from ${new URL(address).host}</span>
    </button>
  `;
}
