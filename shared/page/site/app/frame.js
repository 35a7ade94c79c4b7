// The frame around every view: navigation, theme, and what is beside the view on wide screens.

const LINKS = [
  ["", "Home", "home"],
  ["trending", "Trending", "trending"],
  ["tags", "Tags", "tags"],
  ["boards", "Boards", "boards"],
  ["scheduled", "Scheduled", "scheduled"],
  ...MARKS.map(({ place, title }) => [place, title, place]),
  ["profile", "Profile", "profile"],
  ["status", "Status", "status"],
];

const THEME = "fanfold.theme";
const theme = watchable(kept("localStorage", THEME) ?? "system");

function showTheme() {
  if (theme.get() === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.get();
}

showTheme();
theme.watch(() => {
  keep("localStorage", THEME, theme.get());
  showTheme();
});

function ThemeButton() {
  const now = useValue(theme);
  const next = { system: "light", light: "dark", dark: "system" };
  return html`<button type="button" class="button button-quiet" onClick=${() => theme.set(next[now])}><${Icon} name="theme" />Theme: ${now}</button>`;
}

/** The theme, and signing out. */
function AccountButtons() {
  return html`
    <${ThemeButton} />
    <button type="button" class="button button-quiet" onClick=${() => signOut()}><${Icon} name="leave" />Sign out</button>
  `;
}

/** The main link of a view: its first segment. The own profile is the author page of the user. */
function current([first = "", second = ""], user) {
  if (first === "u") return second === user.handle ? "profile" : "";
  return first === "everybody" ? "" : first;
}

function Frame({ segments, children }) {
  const user = useValue(me);
  const here = current(segments, user);
  const isHome = segments.length === 0;
  return html`
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), document.getElementById("main").focus())}>Skip to the content</a>
    <div class="frame">
      <header class="side">
        <a class="brand" href="#/" aria-label="Fanfold, home" onClick=${() => isHome && homeAgain()}><${Mark} /><span>Fanfold</span></a>
        <nav class="main-nav" aria-label="Main">
          ${LINKS.map(
            ([segment, label, icon]) => html`
              <a class=${segment === "status" ? "wide-only" : undefined} href=${segment === "profile" ? to("u", user.handle) : `#/${segment}`}
                aria-current=${(segment === "" ? isHome : segment === here) ? "page" : undefined}
                onClick=${() => segment === "" && isHome && homeAgain()}>
                <${Icon} name=${icon} /><span>${label}</span>
              </a>
            `,
          )}
        </nav>
        <div class="account wide-only">
          <p class="account-user"><${Sign} handle=${user.handle} name=${user.name} /><span><b dir="auto">${user.name}</b><span class="handle">@${user.handle}</span></span></p>
          <${AccountButtons} />
          <p class="hint"><a href="/docs">API reference</a></p>
        </div>
      </header>
      <main id="main" tabindex="-1">${children}</main>
      ${segments[0] !== "status" && html`<aside class="beside" aria-label="Status"><${Panel} /></aside>`}
    </div>
  `;
}
