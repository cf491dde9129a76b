/** The licence texts of what a packed Trackway contains, in one text: the licences ask that they travel along. */

export interface LicensedPackage {
  /** Such as snappy@7.4.3. */
  readonly title: string;
  /** The SPDX name from its package.json, where it says one. */
  readonly licence?: string;
  /** The text of its licence file, where it has one. */
  readonly text?: string;
}

/** One text with a heading for each package, in the order given. */
export function licenceText(packages: readonly LicensedPackage[]): string {
  return packages.map(({ title, licence, text }) => {
    const heading = `${title}${licence ? ` (${licence})` : ""}`;
    return `${heading}\n${"-".repeat(heading.length)}\n\n${
      (text ?? "No licence file in the package.").trim()
    }\n`;
  }).join("\n\n");
}
