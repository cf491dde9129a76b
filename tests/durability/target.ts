/** The broker as its clients see it: there, gone, there again on another port. Clients come back by themselves. */
import { type Client, Disconnected } from "../../src/client/client.ts";
import { connect } from "./requests.ts";

/** From one start of the broker to its end. */
export interface Reign {
  readonly number: number;
  readonly port: number;
  /** The end was asked for: from now on connections may break. */
  isEnding: boolean;
}

export class Target {
  private reign: Reign | null = null;
  private reigns = 0;
  private isOver = false;
  private wakeUps: (() => void)[] = [];

  /** The broker answers on this port. */
  up(port: number): Reign {
    this.reign = { number: ++this.reigns, port, isEnding: false };
    this.wake();
    return this.reign;
  }

  /** The broker is about to be ended: to be called before that. */
  ending(): void {
    if (this.reign !== null) this.reign.isEnding = true;
  }

  /** The clients are to finish what they have begun and to come to an end. */
  stop(): void {
    this.isOver = true;
    this.wake();
  }

  get isStopping(): boolean {
    return this.isOver;
  }

  /**
   * Gives `work` a connection, and another one whenever the broker has ended and is there again, until it returns.
   * A connection that breaks under a broker that nobody ended is an error.
   */
  async keepConnected(name: string, work: (client: Client) => Promise<void>): Promise<void> {
    for (let last = 0;;) {
      const reign = await this.reignAfter(last);
      last = reign.number;
      let client: Client | null = null;
      try {
        client = await connect(reign.port, name);
        return await work(client);
      } catch (error) {
        if (!isBroken(error)) throw error;
        if (!reign.isEnding) {
          throw new Error(`${name}: a broker that nobody ended broke the connection: ${error}`);
        }
      } finally {
        await client?.close();
      }
    }
  }

  private async reignAfter(number: number): Promise<Reign> {
    while (this.reign === null || this.reign.number <= number) {
      await new Promise<void>((resolve) => this.wakeUps.push(resolve));
    }
    return this.reign;
  }

  private wake(): void {
    const wakeUps = this.wakeUps;
    this.wakeUps = [];
    for (const wakeUp of wakeUps) wakeUp();
  }
}

function isBroken(error: unknown): boolean {
  return error instanceof Disconnected || error instanceof Deno.errors.ConnectionRefused ||
    error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BrokenPipe;
}

/** Counts what was acknowledged and wakes who waits for so much more of it. */
export class Progress {
  private count = 0;
  private waiting: { at: number; resolve: () => void }[] = [];

  step(): void {
    this.count++;
    this.waiting = this.waiting.filter(({ at, resolve }) => {
      if (this.count < at) return true;
      resolve();
      return false;
    });
  }

  more(steps: number): Promise<void> {
    return new Promise((resolve) => this.waiting.push({ at: this.count + steps, resolve }));
  }
}
