// The texts of posts. They are shown as text; mentions, tags and addresses in them become links, and pictures are loaded on request
// alone.

/** The relation of links to other sites. */
const ELSEWHERE = "noopener noreferrer nofollow ugc";
const PICTURE = /\.(png|jpe?g|gif|webp|avif)$/i;

/** The pieces of a text: strings, {address} for links, {mention, user} and {hash, tag}. The places of entities count code points. */
function piecesOf({ text, entities }) {
  const chars = Array.from(text);
  const part = (start, end) => chars.slice(start, end).join("");
  const pieces = [];
  let from = 0;
  for (const { start, end, user, tag, url } of entities) {
    if (!user && !tag && !URL.canParse(url ?? "")) continue;
    const piece = user ? { mention: part(start, end), user } : tag ? { hash: part(start, end), tag } : { address: url };
    pieces.push(part(from, start), piece);
    from = end;
  }
  pieces.push(part(from));
  return pieces.filter((piece) => piece !== "");
}

const isPicture = (address) => address.startsWith("https:") && PICTURE.test(new URL(address).pathname);

function Piece({ piece }) {
  const { address, mention, user, hash, tag } = piece;
  if (hash) return html`<a href=${to("tags", tag)}>${hash}</a>`;
  if (mention) return html`<a href=${to("id", user)}>${mention}</a>`;
  if (address) return html`<a href=${address} target="_blank" rel=${ELSEWHERE}>${address}</a>`;
  return piece;
}

/** The text of a post, with its entities and its attachments. */
function Text({ post }) {
  const pieces = piecesOf(post);
  const pictures = pieces.filter((piece) => piece.address && isPicture(piece.address));
  const { attachments = [] } = post;
  return html`
    <div class="text" data-text dir="auto">
      ${pieces.map((piece) => html`<${Piece} piece=${piece} />`)}
    </div>
    ${pictures.map(({ address }) => html`<${Picture} key=${address} address=${address} />`)}
    ${attachments.map((file, at) => html`<${Attachment} key=${at} file=${file} />`)}
  `;
}

/** A file of a post: a picture on request, and a link to everything else. */
function Attachment({ file: { url, media_type, alt, width, height } }) {
  if (!URL.canParse(url)) return html`<p class="hint">${alt || url}</p>`;
  if (media_type.startsWith("image/")) return html`<${Picture} address=${url} alt=${alt} width=${width} height=${height} />`;
  return html`<p><a href=${url} target="_blank" rel=${ELSEWHERE}>${alt || new URL(url).host}</a> <span class="hint">${media_type}</span></p>`;
}

function Picture({ address, alt = "", width, height }) {
  const [state, setState] = useState("closed");
  const { host } = new URL(address);
  if (state === "failed") return html`<p class="hint">The picture cannot be loaded.</p>`;
  if (state === "open") {
    return html`<img class="picture" src=${address} alt=${alt || `Picture from ${host}`} title=${alt} width=${width} height=${height}
      referrerpolicy="no-referrer" onError=${() => setState("failed")} />`;
  }
  return html`
    <button type="button" class="button button-picture" onClick=${() => setState("open")}>
      Show picture <span class="hint">from ${host}${alt ? `: ${alt}` : ""}</span>
    </button>
  `;
}
