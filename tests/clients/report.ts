/** What each client did at each step: told as it happens, and as a table at the end. */

type Outcome =
  | { kind: "passed"; seconds: number }
  /** Passed with the reference client in place of a verb that the library lacks. */
  | { kind: "helped"; seconds: number; reason: string }
  /** The library cannot do this step at all. */
  | { kind: "lacks"; reason: string }
  | { kind: "failed"; reason: string };

const marks = { passed: "✓", helped: "r", lacks: "–", failed: "✗" };

export class Report {
  #rows = new Map<string, Map<string, Outcome>>();

  passed(row: string, step: string, seconds: number): void {
    this.add(row, step, { kind: "passed", seconds });
  }

  helped(row: string, step: string, reason: string, seconds: number): void {
    this.add(row, step, { kind: "helped", seconds, reason });
  }

  lacks(row: string, step: string, reason: string): void {
    this.add(row, step, { kind: "lacks", reason });
  }

  failed(row: string, step: string, reason: string): void {
    this.add(row, step, { kind: "failed", reason });
  }

  /** How many steps passed (with or without help) and how many failed. */
  counts(): { passed: number; failed: number } {
    const kinds = [...this.#rows.values()].flatMap((row) => [...row.values()].map((outcome) => outcome.kind));
    const failed = kinds.filter((kind) => kind === "failed").length;
    return { passed: kinds.filter((kind) => kind === "passed" || kind === "helped").length, failed };
  }

  /** The table of all clients by `columns`, the rows with other steps as lists, and all reasons. */
  summary(columns: readonly string[]): string {
    const rows = [...this.#rows].filter(([, row]) => columns.some((column) => row.has(column)));
    const others = [...this.#rows].filter(([, row]) => !columns.some((column) => row.has(column)));
    const width = Math.max(6, ...rows.map(([name]) => name.length));
    const lines = [
      "",
      ["client".padEnd(width), ...columns].join(" | "),
      ["".padEnd(width, "-"), ...columns.map((column) => "-".repeat(column.length))].join("-|-"),
      ...rows.map(([name, row]) =>
        [name.padEnd(width), ...columns.map((column) => cell(row, column))].join(" | ")
      ),
      "",
      "✓ passed   ✗ failed   r passed, the reference client stood in for a verb the library lacks   – not in the library",
    ];
    for (const [name, row] of others) {
      lines.push(
        "",
        `${name}: ${[...row].map(([step, outcome]) => `${marks[outcome.kind]} ${step}`).join("  ")}`,
      );
    }
    lines.push("", ...this.reasons("lacks"), ...this.reasons("helped"), ...this.reasons("failed"));
    return lines.join("\n");
  }

  private reasons(kind: "lacks" | "helped" | "failed"): string[] {
    return [...this.#rows].flatMap(([name, row]) =>
      [...row].flatMap(([step, outcome]) =>
        outcome.kind === kind ? [`${marks[kind]} ${name}, ${step}: ${outcome.reason.split("\n")[0]}`] : []
      )
    );
  }

  private add(row: string, step: string, outcome: Outcome): void {
    if (!this.#rows.has(row)) this.#rows.set(row, new Map());
    this.#rows.get(row)!.set(step, outcome);
    const took = "seconds" in outcome ? ` (${outcome.seconds.toFixed(1)} s)` : "";
    const reason = "reason" in outcome ? `: ${outcome.reason}` : "";
    console.log(`${marks[outcome.kind]} ${row}, ${step}${took}${reason}`);
  }
}

function cell(row: Map<string, Outcome>, column: string): string {
  const outcome = row.get(column);
  return (outcome ? marks[outcome.kind] : " ").padEnd(column.length);
}
