export { openDirectory } from "./directory.ts";
export {
  fingerprintOf,
  hashKeyChange,
  hasSigned,
  type KeyChange,
  parsePublicPart,
  type Passkey,
  type PublicPart,
  publicPartOf,
  publicPartToJson,
} from "./keys.ts";
export { isKeyChange, OWNER_ID, type PeopleLogEntry } from "./log.ts";
export { looksLike } from "./names.ts";
export {
  type Member,
  findOsUser,
  openPeople,
  type People,
  type PeopleReader,
  type PersonSettings,
} from "./people.ts";
export {
  confirmationOf,
  DEFAULT_RIGHTS,
  isConfirmed,
  isIndependent,
  type Person,
  type Right,
  RIGHTS,
} from "./person.ts";
export { hashOf, newSecret } from "./secret.ts";
export { createSigner, loadAgent, makeKeyFile, readKeyFile } from "./signer.ts";
