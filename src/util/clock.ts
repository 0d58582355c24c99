/** Time as a port: nothing below the command line reads the system clock by itself. */

export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };
