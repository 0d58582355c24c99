declare module "fs-native-extensions" {
  /** False if another open file holds a lock on these bytes. */
  export function tryLock(fd: number, offset?: number, length?: number): boolean;
}
