import { after } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { secretsAtLevels } from '../../contracts/secrets-levels.ts';

after(leakCheck());

secretsAtLevels('secrets-file');
