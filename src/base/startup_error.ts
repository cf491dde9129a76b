/** Why a broker could not start, in one line that also says the way out: the command line prints it and nothing else. */

/** Thrown by whatever refuses to start: a port that is taken, a data directory that is locked, a setting. */
export class StartupError extends Error {
  override name = "StartupError";
}
