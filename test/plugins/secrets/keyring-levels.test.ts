import { after, describe } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { secretsAtLevels } from '../../contracts/secrets-levels.ts';
import { emptyKeyring, noKeyring } from '../../fixtures/keyring.ts';

after(leakCheck());

describe('secrets in the keyring', { skip: noKeyring }, () => secretsAtLevels('secrets-keyring', emptyKeyring));
