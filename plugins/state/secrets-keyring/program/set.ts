export { setSecret as program } from '@device-core/plugin-api/inside/secrets-kit/ask';
