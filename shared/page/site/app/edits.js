// Editing an own post, and the earlier versions of posts.

SHAPES.edit = "M4.500 19.500l1-4L16 5l3 3L8.500 18.500zM13.500 7.500l3 3";

/** The form in which the text of an own post is changed. Another tab may have changed it, too: nothing is lost then. */
function EditPost({ post, close }) {
  const [text, setText] = useState(post.text);
  // that of the text in the form: the list may show a newer one meanwhile
  const [version] = useState(post.version);
  async function save() {
    refuseUnsendable(text);
    return call("PATCH", `/v1/posts/${post.id}`, { body: { text }, ifMatch: `"${version}"` });
  }
  const form = useSubmit(save, (made) => {
    remembered([made]);
    announce("The post is saved.");
    close();
  });
  return html`<${TextDialog} title="Edit post" text=${text} change=${setText} form=${form} close=${close} />`;
}

/** Says that a post was edited, and shows its versions on request. */
function EditedMark({ post: { id, edited_at } }) {
  const [isOpen, setOpen] = useState(false);
  if (!edited_at) return null;
  return html`
    <button type="button" class="edited" title=${moment(edited_at)} onClick=${() => setOpen(true)}>edited</button>
    ${isOpen && html`<${Versions} id=${id} close=${() => setOpen(false)} />`}
  `;
}

function Versions({ id, close }) {
  const [{ items, error }, setState] = useState({});
  useEffect(() => {
    call("GET", `/v1/posts/${id}/history`).then(setState, (error) => setState({ error }));
  }, [id]);
  return html`
    <${Dialog} title="Versions of this post" close=${close}>
      <ol class="cards" aria-busy=${items || error ? "false" : "true"}>
        ${items?.map(
          (version) => html`
            <li class="card" key=${version.version} data-version=${version.version}>
              <p class="when"><time datetime=${version.written_at}>${moment(version.written_at)}</time></p>
              <${Text} post=${version} />
            </li>
          `,
        )}
      </ol>
      <${Problem} error=${error} />
      <div class="buttons"><button type="button" class="button" onClick=${close}>Close</button></div>
    <//>
  `;
}
