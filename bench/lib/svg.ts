/** What all pictures here share: colours, escaping. Pure. */

/** Colours for a light and a dark page. The paper is drawn too, so that either way a picture can be read. */
const COLOURS = {
  light: {
    ...{ paper: "#ffffff", ink: "#1f2328", faint: "#59636e", line: "#d1d9e0" },
    ...{ met: "#1a7f5a", short: "#b7791f", worse: "#c0362c" },
  },
  dark: {
    ...{ paper: "#0d1117", ink: "#e6edf3", faint: "#9198a1", line: "#3d444d" },
    ...{ met: "#3fb984", short: "#e0a83e", worse: "#f4645a" },
  },
};

function rules(colours: Readonly<Record<string, string>>): string {
  return Object.entries(colours).map(([name, colour]) =>
    `.${name} { fill: ${colour}; } line.${name}, polyline.${name} { stroke: ${colour}; fill: none; }`
  ).join("\n");
}

/** The style of a picture: `class` is the name of a colour. Without variables, which few viewers but browsers know. */
export const style = `<style>\n${rules(COLOURS.light)}\n@media (prefers-color-scheme: dark) {\n${
  rules(COLOURS.dark)
}\n}\n</style>`;

/** A coordinate. */
export const fixed = (value: number) => value.toFixed(1);

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
