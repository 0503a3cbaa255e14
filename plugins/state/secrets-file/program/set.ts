export { setSecret as program } from '@device-core/plugin-api/secrets-kit/ask';
