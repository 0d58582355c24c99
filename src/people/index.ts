export {
  type Absence,
  DEFAULT_RIGHTS,
  hashOf,
  looksLike,
  newSecret,
  openDirectory,
  openPeople,
  type People,
  type Person,
  type PersonSettings,
  type Right,
  RIGHTS,
} from "./people.ts";
