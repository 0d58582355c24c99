/** Tells the servers of this copy of the library from those of another one, without loading what runs them. */

const own = new WeakSet<object>();

export function addOwnServers(servers: object): void {
  own.add(servers);
}

/** Whether a set of servers was made here. */
export function isOwnServers(servers: object): boolean {
  return own.has(servers);
}
