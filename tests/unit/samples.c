/* A body for each format that has a bit of everything. ' stands for ", see bytes_quoted. */
#include "support.h"

#define CHAT                                                                                       \
    "{'model':'m-1','tools':[{'type':'function','function':{'name':'read','parameters':"           \
    "{'type':'object'}}}],'messages':[\n"                                                          \
    " {'role':'system','content':'Be brief.'},\n"                                                  \
    " {'role':'user','content':[{'type':'text','text':'Compare \\u00e9 and \\ud83d\\ude00.'},"     \
    "{'type':'image_url','image_url':{'url':'data:image/png;base64,AAAA'}},"                       \
    "{'type':'text','text':'Now.','prompt_cache_breakpoint':{'mode':'explicit'}}]},\n"             \
    " {'role':'assistant','content':null,'reasoning_content':'hm','tool_calls':["                  \
    "{'id':'call_1','type':'function','function':{'name':'read','arguments':'{\\'p\\':\\'a\\'}'}}" \
    ","                                                                                            \
    "{'id':'call_2','type':'custom','custom':{'name':'sql','input':'select 1'}}]},\n"              \
    " {'role':'tool','tool_call_id':'call_2','content':'1\\n2\\n'},\n"                             \
    " {'role':'tool','tool_call_id':'call_1','content':[{'type':'text','text':'one'},"             \
    "{'type':'text','text':'two'}]},\n"                                                            \
    " {'role':'assistant','content':'They differ.'},\n"                                            \
    " {'role':'user','content':'Thanks.'}],'stream':true,'temperature':1.0}\n"

#define ANTHROPIC                                                                              \
    "{'model':'m-2','max_tokens':1024,'system':[{'type':'text','text':'Be brief.',"            \
    "'cache_control':{'type':'ephemeral'}}],'tools':[{'name':'run','description':'runs',"      \
    "'input_schema':{'type':'object'}}],'messages':[\n"                                        \
    " {'role':'user','content':'Look.'},\n"                                                    \
    " {'role':'assistant','content':[{'type':'thinking','thinking':'first','signature':'S1'}," \
    "{'type':'redacted_thinking','data':'D1'},{'type':'text','text':'I run it twice.'},"       \
    "{'type':'tool_use','id':'toolu_1','name':'run','input':{'n':1}},"                         \
    "{'type':'tool_use','id':'toolu_2','name':'run','input':{}}]},\n"                          \
    " {'role':'user','content':[{'type':'tool_result','tool_use_id':'toolu_1','content':["     \
    "{'type':'text','text':'a\\n'},{'type':'image','source':{'type':'base64',"                 \
    "'media_type':'image/png','data':'AAAA'}},{'type':'text','text':'b'}]},"                   \
    "{'type':'tool_result','tool_use_id':'toolu_2','is_error':true,'content':'no such file'}," \
    "{'type':'text','text':'Go on.'}]},\n"                                                     \
    " {'role':'assistant','content':[{'type':'server_tool_use','id':'srvtoolu_1',"             \
    "'name':'web_search','input':{'query':'q'}},{'type':'web_search_tool_result',"             \
    "'tool_use_id':'srvtoolu_1','content':[{'type':'web_search_result','title':'T',"           \
    "'url':'https://example.org','encrypted_content':'E','page_age':null}]},"                  \
    "{'type':'text','text':'Found.'}]},\n"                                                     \
    " {'role':'user','content':'And then?'}]}"

#define RESPONSES                                                                              \
    "{'model':'m-3','store':false,'include':['reasoning.encrypted_content'],"                  \
    "'instructions':'Be brief.','input':[\n"                                                   \
    " {'type':'message','role':'user','content':[{'type':'input_text','text':'q1'}]},\n"       \
    " {'type':'reasoning','id':'rs_1','summary':[{'type':'summary_text','text':'Plan.'}],"     \
    "'encrypted_content':'E1'},\n"                                                             \
    " {'type':'function_call','id':'fc_1','call_id':'call_1','name':'ls','arguments':'{}'},\n" \
    " {'type':'function_call_output','call_id':'call_1','output':'x'},\n"                      \
    " {'type':'custom_tool_call','call_id':'call_2','name':'sql','input':'select 1'},\n"       \
    " {'type':'custom_tool_call_output','call_id':'call_2','output':[{'type':'input_text',"    \
    "'text':'1'}]},\n"                                                                         \
    " {'type':'shell_call','call_id':'call_3','action':{'commands':['pwd']}},\n"               \
    " {'type':'shell_call_output','call_id':'call_3','output':[{'stdout':'/w','stderr':'',"    \
    "'outcome':{'type':'exit','exit_code':0}}]},\n"                                            \
    " {'type':'reasoning','id':'rs_2','summary':[],'encrypted_content':'E2'},\n"               \
    " {'type':'message','role':'assistant','id':'msg_1','status':'completed','content':["      \
    "{'type':'output_text','text':'Answer.','annotations':[]}]},\n"                            \
    " {'type':'message','role':'user','content':[{'type':'input_text','text':'q2'}]}],"        \
    "'tools':[{'type':'function','name':'ls','parameters':{'type':'object'}},"                 \
    "{'type':'custom','name':'sql'},{'type':'shell'}]}"

#define GEMINI                                                                                   \
    "{'systemInstruction':{'parts':[{'text':'Be brief.'}]},'contents':[\n"                       \
    " {'role':'user','parts':[{'text':'Weather?'},{'inlineData':{'mimeType':'image/png',"        \
    "'data':'AAAA'}}]},\n"                                                                       \
    " {'role':'model','parts':[{'text':'I ask.','thought':true},{'functionCall':{'id':'f1',"     \
    "'name':'temp','args':{'c':'Paris'}},'thoughtSignature':'U0lH'},{'functionCall':{'id':'f2'," \
    "'name':'temp','args':{'c':'Rome'}}}]},\n"                                                   \
    " {'role':'user','parts':[{'functionResponse':{'id':'f1','name':'temp','response':"          \
    "{'output':'15C'}}},{'functionResponse':{'id':'f2','name':'temp','response':"                \
    "{'error':'unknown town'}}}]},\n"                                                            \
    " {'role':'model','parts':[{'text':'15 degrees.'}]},\n"                                      \
    " {'role':'user','parts':[{'text':'Thanks.'}]}],"                                            \
    "'tools':[{'functionDeclarations':[{'name':'temp'}]}]}"

#define BEDROCK                                                                                  \
    "{'system':[{'text':'Be brief.'},{'cachePoint':{'type':'default'}}],'toolConfig':{'tools':[" \
    "{'toolSpec':{'name':'run','inputSchema':{'json':{'type':'object'}}}}]},'messages':[\n"      \
    " {'role':'user','content':[{'text':'Look.'}]},\n"                                           \
    " {'role':'assistant','content':[{'reasoningContent':{'reasoningText':{'text':'hm',"         \
    "'signature':'S1'}}},{'toolUse':{'toolUseId':'t1','name':'run','input':{'n':1}}},"           \
    "{'toolUse':{'toolUseId':'t2','name':'run','input':{}}}]},\n"                                \
    " {'role':'user','content':[{'toolResult':{'toolUseId':'t1','content':[{'text':'a'},"        \
    "{'image':{'format':'png','source':{'bytes':'AAAA'}}},{'text':'b'}]}},{'toolResult':"        \
    "{'toolUseId':'t2','status':'error','content':[{'json':{'why':'no such file'}}]}}]},\n"      \
    " {'role':'assistant','content':[{'text':'It failed.'}]},\n"                                 \
    " {'role':'user','content':[{'text':'Again.'}]}]}"

#define NEUTRAL                                                                                    \
    "{'messages':[\n"                                                                              \
    " {'role':'system','content':[{'type':'text','text':'Be brief.'}]},\n"                         \
    " {'role':'user','content':[{'type':'text','text':'Look.'},{'type':'image','data':'AAAA'}]},"  \
    "\n"                                                                                           \
    " {'role':'assistant','content':[{'type':'thinking','text':'hm','signature':'S1'},"            \
    "{'type':'text','text':'I run it.'},{'type':'tool_call','id':'c1','name':'run',"               \
    "'arguments':'{\\'n\\':1}'}]},\n"                                                              \
    " {'role':'tool','content':[{'type':'tool_result','tool_call_id':'c1','content':'a\\nb'}]},\n" \
    " {'role':'assistant','content':[{'type':'text','text':'Done.'}]},\n"                          \
    " {'role':'user','content':[{'type':'text','text':'Thanks.'},{'type':'file','id':'f'}]}]}"

const struct sample samples[] = {
    {"openai-chat", CHAT}, {"anthropic", ANTHROPIC}, {"openai-responses", RESPONSES},
    {"gemini", GEMINI},    {"bedrock", BEDROCK},     {"neutral", NEUTRAL},
    {NULL, NULL},
};
