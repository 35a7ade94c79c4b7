// Dialogs. The browser keeps the focus in them, closes them with Escape, and returns the focus.

let nextId = 0;

/** A dialog that is open as long as it is rendered. `close` is called by Escape and by its own buttons. */
function Dialog({ title, close, children }) {
  const [id] = useState(() => `dialog-${(nextId += 1)}`);
  const element = useRef(null);
  useLayoutEffect(() => {
    const opener = document.activeElement;
    element.current.showModal();
    // the opener may be gone, as the button of a post that was deleted
    return () => setTimeout(() => (opener?.isConnected ? opener : document.getElementById("main"))?.focus());
  }, []);
  return html`
    <dialog ref=${element} aria-labelledby=${id} onCancel=${(event) => (event.preventDefault(), close())}>
      <h2 id=${id}>${title}</h2>
      ${children}
    </dialog>
  `;
}

/** Asks before something that cannot be undone. */
function Confirm({ title, text, yes, no, act, close }) {
  const { submit, isBusy, error } = useSubmit(act, close);
  return html`
    <${Dialog} title=${title} close=${close}>
      <form onSubmit=${submit}>
        <p>${text}</p>
        <${Problem} error=${error} />
        <div class="buttons">
          <button type="button" class="button" onClick=${close}>${no}</button>
          <button class="button button-danger" aria-disabled=${isBusy ? "true" : "false"}>${yes}</button>
        </div>
      </form>
    <//>
  `;
}

/** The state of a form: `submit` for the event, `isBusy` while `act` is under way, and the error of `act`. */
function useSubmit(act, done = () => {}) {
  const [state, setState] = useState({});
  const isThere = useRef(true);
  useEffect(() => () => void (isThere.current = false), []);
  async function submit(event) {
    event.preventDefault();
    if (state.isBusy) return;
    setState({ isBusy: true });
    try {
      const result = await act();
      if (isThere.current) setState({});
      done(result);
    } catch (error) {
      if (isThere.current) setState({ error });
    }
  }
  return { submit, isBusy: Boolean(state.isBusy), error: state.error };
}

/** The error of a form. */
function Problem({ error }) {
  return html`<div role="alert">${error && html`<p class="problem">${error instanceof Refused ? error.message : inWords(error)}</p>`}</div>`;
}

/** A field of a form, with its label. */
function Field({ label, hint, value, change, ...rest }) {
  const [id] = useState(() => `field-${(nextId += 1)}`);
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      <input id=${id} value=${value} aria-describedby=${hint ? `${id}-hint` : undefined}
        onInput=${(event) => change(event.currentTarget.value)} ...${rest} />
      ${hint && html`<p class="hint" id="${id}-hint">${hint}</p>`}
    </div>
  `;
}
