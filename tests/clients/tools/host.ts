/** Runs Kafka's command-line tools in one JVM: see ToolHost.java. */

import { join } from "node:path";
import { TextLineStream } from "@std/streams/text-line-stream";

import { once, root, run } from "../install.ts";
import { installTools } from "../java/install.ts";

const LIB = ".cache/clients/java/tools";
const TIMEOUT_MS = 60_000;

/** What a tool said, and the exit code that it asked for. */
export interface Said {
  code: number;
  out: string;
  err: string;
}

/** Kafka's tools and the program that runs them. Needs a JDK and Maven. */
export async function installHost(): Promise<void> {
  await installTools();
  const source = join(root, "tests/clients/tools/ToolHost.java");
  await once("java-tool-host", await Deno.readTextFile(source), async () => {
    await run("javac", ["-cp", join(root, LIB, "lib/*"), "-d", join(root, LIB, "classes"), source]);
  });
}

export class ToolHost implements AsyncDisposable {
  private readonly process: Deno.ChildProcess;
  private readonly requests: WritableStreamDefaultWriter<Uint8Array>;
  private readonly answers: ReadableStreamDefaultReader<string>;
  private stderr = "";
  private readonly stderrRead: Promise<void>;

  constructor() {
    this.process = new Deno.Command("java", {
      args: [
        ...["-Xmx384M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
        // Their logs go to the stderr of this process, apart from what they print.
        ...[
          "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
          "-Dorg.slf4j.simpleLogger.cacheOutputStream=true",
        ],
        ...["-cp", `${LIB}/classes:${LIB}/lib/*`, "ToolHost"],
      ],
      cwd: root,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.requests = this.process.stdin.getWriter();
    this.answers = this.process.stdout.pipeThrough(new TextDecoderStream()).pipeThrough<string>(
      new TextLineStream(),
    )
      .getReader();
    this.stderrRead = this.readStderr();
  }

  /** Runs a class to its end. Throws when it takes too long, or takes the JVM with it. */
  async run(tool: string, args: readonly string[], input = ""): Promise<Said> {
    await this.requests.write(new TextEncoder().encode(`${JSON.stringify({ tool, args, input })}\n`));
    const timer = setTimeout(() => this.process.kill("SIGKILL"), TIMEOUT_MS);
    const { value } = await this.answers.read();
    clearTimeout(timer);
    if (value === undefined) throw new Error(`${tool} ${args.join(" ")} ended the JVM:\n${this.stderr}`);
    return JSON.parse(value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The JVM may be gone.
    await this.requests.close().catch(() => this.process.kill("SIGKILL"));
    await this.answers.cancel();
    await this.stderrRead;
    await this.process.status;
  }

  private async readStderr(): Promise<void> {
    for await (const chunk of this.process.stderr.pipeThrough(new TextDecoderStream())) {
      this.stderr = (this.stderr + chunk).slice(-16_000);
    }
  }
}
