/** Endpoints of engines and sentences: see `endpoints.ts`. */
import { admin, type Endpoint, get, post } from './endpoint.ts';

export const SPEECH_ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'speech.engines': get('/speech/engines', [], admin),
  'speech.synthesize': post(
    '/speech/synthesize',
    { text: 'Hello.' },
    [
      ['nothing to say', { text: '' }, 400, 'PARAMS_INVALID'],
      ['signs only', { text: '...' }, 400, 'PARAMS_INVALID'],
    ],
    admin,
  ),
  'speech.phrases': post(
    '/speech/phrases',
    { wav: 'UklGRg==', phrases: ['hey computer'] },
    [['no phrase', { wav: 'UklGRg==', phrases: [] }, 400, 'PARAMS_INVALID']],
    { ...admin, bodyLimit: 6 << 20 },
  ),
  'intents.list': get('/intents', [['a language that is none', '/intents?language=4', 400, 'PARAMS_INVALID']]),
  'intents.match': post(
    '/intents/match',
    { text: 'what time is it' },
    [['no text', { text: '' }, 400, 'PARAMS_INVALID']],
    admin,
  ),
  'intents.try': post('/intents/try', { text: 'what time' }, [['no text', { text: '' }, 400, 'PARAMS_INVALID']], admin),
  'intents.grammar': get('/intents/grammar', [], admin),
};
