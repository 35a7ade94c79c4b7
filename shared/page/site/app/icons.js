// Icons, as outlines of 24 × 24 pixels. The text beside or around an icon says what it means.

const SHAPES = {
  home: "M4 11.5 12 4l8 7.5V20h-5.500v-5.500h-5V20H4z",
  trending: "M4 17l5.500-6 4 3.500L20 7m0 0h-5m5 0v5",
  tags: "M9.500 4 7.500 20m9-16-2 16M4.500 9h15.500M4 15h15.500",
  boards: "M5 20v-7h4v7m1.500 0V5h4v15m1.500 0v-10h4v10",
  scheduled: "M12 4.500a7.500 7.500 0 1 0 0 15 7.500 7.500 0 0 0 0-15zM12 8v4.300l2.800 1.900",
  profile: "M12 4.500a3.800 3.800 0 1 0 0 7.600 3.800 3.800 0 0 0 0-7.600zM4.800 20c.8-3.600 3.700-5.400 7.200-5.400s6.400 1.800 7.200 5.400",
  status: "M3.500 12.500h4l2.300-6.500 4 12 2.600-7.500 1 2h3.100",
  delete: "M5 7h14M9.500 7V4.500h5V7m-8 0 .8 12.500h9.400L17.500 7M10.300 10.500v5.500m3.400-5.500v5.500",
  theme: "M12 4.500a7.500 7.500 0 1 0 0 15zM12 4.500a7.500 7.500 0 0 1 0 15",
  leave: "M13.500 4.500H5v15h8.500M10 12h10m-3.500-3.500L20 12l-3.500 3.500",
};

function Icon({ name, filled = false }) {
  return html`
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" fill=${filled ? "currentColor" : "none"}>
      <path d=${SHAPES[name]} stroke="currentColor" stroke-width="1.7" stroke-linejoin="round" stroke-linecap="round" />
    </svg>
  `;
}

/** The brand: three folds of paper. */
function Mark() {
  return html`
    <svg class="mark" viewBox="0 0 64 64" aria-hidden="true">
      <rect class="mark-back" width="64" height="64" rx="14" />
      <path class="mark-paper" d="M13 14h38l-8 9.500H13zM13 40.500h38l-8 9.500H13z" />
      <path class="mark-bar" d="M13 27.300h38l-8 9.500H13z" />
      <path class="mark-fold" d="M51 14v9.500l-8 4v-4zM51 27.300v9.400l-8 3.900v-3.800z" />
    </svg>
  `;
}

const COLOURS = 6;

/** A sign for a user: the first letter of the name, in a colour that the handle chooses. */
function Sign({ handle, name, large = false }) {
  let sum = 0;
  for (const character of handle) sum = (sum * 31 + character.charCodeAt(0)) % 997;
  const letter = [...new Intl.Segmenter("en").segment(name)][0]?.segment ?? "?";
  return html`<span class="sign sign-${sum % COLOURS} ${large ? "sign-large" : ""}" aria-hidden="true">${letter.toUpperCase()}</span>`;
}
