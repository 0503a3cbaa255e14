/** A key pair that is the same in each process, so that a seed is, too. It signs for tests alone. */
import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';

/** PKCS #8 of an Ed25519 key, without the key (RFC 8410). */
const PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const secret = createHash('sha256').update('device-core fuzz').digest();
const key = createPrivateKey({ key: Buffer.concat([PREFIX, secret]), format: 'der', type: 'pkcs8' });

export const PRIVATE_KEY = key.export({ format: 'pem', type: 'pkcs8' }).toString();
export const PUBLIC_KEY = createPublicKey(key).export({ format: 'pem', type: 'spki' }).toString();
