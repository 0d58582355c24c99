/** Recognizes servers that this copy of the library created, without loading the code that runs them. */

const own = new WeakSet<object>();

export function addOwnServers(servers: object): void {
  own.add(servers);
}

/** Whether a set of servers was made here. */
export function isOwnServers(servers: object): boolean {
  return own.has(servers);
}
